"""Clients of PyPI, as they are: argv[1] is the base URL, argv[2] the client. Prints what each feature gave, by API, as JSON."""

import asyncio, json, sys
from pydantic import BaseModel

URL, CLIENT = sys.argv[1], sys.argv[2]
MODEL = "conversation-graph"
COMPARE = "Compare the weather of two cities"


class City(BaseModel):
    city: str


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
FUNCTION = {"name": "weather", "description": "The weather of a city.", "parameters": PARAMETERS}
TOOL = {"type": "function", "function": FUNCTION}


def says(words):
    return [{"role": "user", "content": words}]


def run_calls(message):
    """The results of a completion's calls, behind its message."""
    results = [{"role": "tool", "tool_call_id": call.id, "content": weather(**json.loads(call.function.arguments))} for call in message.tool_calls]
    return [message.model_dump(exclude_none=True), *results]


def run_items(response):
    """The results of a response's calls."""
    calls = [item for item in response.output if item.type == "function_call"]
    return [{"type": "function_call_output", "call_id": call.call_id, "output": weather(**json.loads(call.arguments))} for call in calls]


def openai():
    from openai import OpenAI

    client = OpenAI(base_url=URL, api_key="none", max_retries=0, default_headers={"X-User-Id": "py-openai"})

    def tools():
        messages = says(COMPARE)
        message = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
        while message.tool_calls:
            messages += run_calls(message)
            message = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
        return message.content

    def response_tools():
        asked = {"model": MODEL, "tools": [{"type": "function", "strict": True, **FUNCTION}]}
        response = client.responses.create(input=COMPARE + ", please", **asked)
        while results := run_items(response):
            response = client.responses.create(input=results, previous_response_id=response.id, **asked)
        return response.output_text

    def response_stream():
        with client.responses.stream(model=MODEL, input="Hello") as stream:
            assert [event.type for event in stream][0] == "response.created"
            return stream.get_final_response().output_text

    chunks = client.chat.completions.create(model=MODEL, messages=says("Hello"), stream=True)
    return {
        "completions, whole": client.chat.completions.create(model=MODEL, messages=says("Hello")).choices[0].message.content,
        "completions, streamed": "".join(chunk.choices[0].delta.content or "" for chunk in chunks),
        "completions, tools": tools(),
        "completions, JSON": client.chat.completions.parse(model=MODEL, messages=says("Where?"), response_format=City).choices[0].message.parsed.city,
        "responses, whole": client.responses.create(model=MODEL, input="Hello").output_text,
        "responses, streamed": response_stream(),
        "responses, tools": response_tools(),
        "responses, JSON": client.responses.parse(model=MODEL, input="Where is it?", text_format=City).output_parsed.city,
    }


def async_client(user):
    from openai import AsyncOpenAI

    return AsyncOpenAI(base_url=URL, api_key="none", max_retries=0, default_headers={"X-User-Id": user})


def pydantic_ai():
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def features(api, model_class):
        model = model_class(MODEL, provider=OpenAIProvider(openai_client=async_client(f"pydantic-{api}")))
        agent = Agent(model)
        async with agent.run_stream("Hello, slowly") as stream:
            streamed = await stream.get_output()
        extract = Agent(model, output_type=City)  # a forced call, which nobody answers: it locks nothing
        extracted = [(await extract.run("I live in Porto")).output.city for _ in range(2)]
        return {
            f"{api}, whole": (await agent.run("Hello")).output,
            f"{api}, streamed": streamed,
            f"{api}, tools": (await Agent(model, tools=[weather]).run(COMPARE)).output,
            f"{api}, JSON": extracted[1],
        }

    async def both():
        return {**await features("completions", OpenAIChatModel), **await features("responses", OpenAIResponsesModel)}

    return asyncio.run(both())


def agents():
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled

    set_tracing_disabled(True)

    async def features(api, model_class):
        def agent(**more):
            return Agent(name="one", model=model_class(MODEL, async_client(f"agents-{api}")), **more)

        streamed = Runner.run_streamed(agent(), "Hello, slowly")
        pieces = [event.data.delta async for event in streamed.stream_events() if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"]
        return {
            f"{api}, whole": (await Runner.run(agent(), "Hello")).final_output,
            f"{api}, streamed": "".join(pieces),
            f"{api}, tools": (await Runner.run(agent(tools=[function_tool(weather)]), COMPARE)).final_output,
            f"{api}, JSON": (await Runner.run(agent(output_type=City), "Where?")).final_output.city,
        }

    async def both():
        return {**await features("completions", OpenAIChatCompletionsModel), **await features("responses", OpenAIResponsesModel)}

    return asyncio.run(both())


def litellm():
    from litellm import completion, responses

    asked = {"model": f"openai/{MODEL}", "api_base": URL, "api_key": "none", "user": "litellm"}

    def tools():
        messages = says(COMPARE)
        message = completion(messages=messages, tools=[TOOL], **asked).choices[0].message
        while message.tool_calls:
            messages += run_calls(message)
            message = completion(messages=messages, tools=[TOOL], **asked).choices[0].message
        return message.content

    def text_of(response):
        return "".join(part.text for item in response.output if item.type == "message" for part in item.content)

    def response_tools():
        given = {**asked, "tools": [{"type": "function", "strict": True, **FUNCTION}]}
        response = responses(input=COMPARE + ", please", **given)
        while results := run_items(response):
            response = responses(input=results, previous_response_id=response.id, **given)
        return text_of(response)

    chunks = completion(messages=says("Hello"), stream=True, **asked)
    deltas = [event.delta for event in responses(input="Hello", stream=True, **asked) if event.type == "response.output_text.delta"]
    return {
        "completions, whole": completion(messages=says("Hello"), **asked).choices[0].message.content,
        "completions, streamed": "".join(chunk.choices[0].delta.content or "" for chunk in chunks),
        "completions, tools": tools(),
        "completions, JSON": City.model_validate_json(completion(messages=says("Where?"), response_format=City, **asked).choices[0].message.content).city,
        "responses, whole": text_of(responses(input="Hello", **asked)),
        "responses, streamed": "".join(deltas),
        "responses, tools": response_tools(),
        "responses, JSON": City.model_validate_json(text_of(responses(input="Where is it?", text_format=City, **asked))).city,
    }


print(json.dumps(globals()[CLIENT]()))
