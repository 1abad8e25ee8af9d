"""Clients of PyPI, as they are: argv[1] is the base URL, argv[2] what to try. Prints what came of it as JSON."""

import asyncio, json, sys
from pydantic import BaseModel

URL, STORY = sys.argv[1], sys.argv[2]
MODEL = "conversation-graph"


class City(BaseModel):
    city: str


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def openai_client(user):
    from openai import OpenAI

    return OpenAI(base_url=URL, api_key="none", max_retries=0, default_headers={"X-User-Id": user})


def chat():
    client = openai_client("py-chat")
    messages = [{"role": "user", "content": "Hello"}]
    whole = client.chat.completions.create(model=MODEL, messages=messages)
    chunks = client.chat.completions.create(model=MODEL, messages=messages, stream=True)
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    return [whole.choices[0].message.content, streamed]


def parse():
    client = openai_client("py-parse")
    messages = [{"role": "user", "content": "Where?"}]
    completion = client.chat.completions.parse(model=MODEL, messages=messages, response_format=City)
    response = client.responses.parse(model=MODEL, input="Where is it?", text_format=City)
    return [completion.choices[0].message.parsed.city, response.output_parsed.city]


def responses():
    client = openai_client("py-responses")
    with client.responses.stream(model=MODEL, input="Hello") as stream:
        first = [event.type for event in stream][0], stream.get_final_response()
    second = client.responses.create(model=MODEL, input="Again", previous_response_id=first[1].id)
    return [first[0], first[1].output_text, second.output_text]


def pydantic_ai(api):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}[api]
    provider = OpenAIProvider(openai_client=async_client(f"pydantic-{api}"))
    agent = Agent(model(MODEL, provider=provider), tools=[weather])
    return agent.run_sync("Compare them").output


def extract():
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(openai_client=async_client("pydantic-extract"))
    agent = Agent(OpenAIChatModel(MODEL, provider=provider), output_type=City)
    return [agent.run_sync("I live in Porto").output.city for _ in range(2)]


def async_client(user):
    from openai import AsyncOpenAI

    return AsyncOpenAI(base_url=URL, api_key="none", max_retries=0, default_headers={"X-User-Id": user})


def agents(api):
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled

    set_tracing_disabled(True)
    model = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}[api]
    agent = Agent(name="w", model=model(MODEL, async_client(f"agents-{api}")), tools=[function_tool(weather)])
    return asyncio.run(Runner.run(agent, "Compare them")).final_output


def litellm():
    from litellm import completion

    asked = {"model": f"openai/{MODEL}", "api_base": URL, "api_key": "none", "user": "litellm"}
    messages = [{"role": "user", "content": "Hello"}]
    whole = completion(messages=messages, **asked).choices[0].message.content
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in completion(messages=messages, stream=True, **asked))
    return [whole, streamed]


name, *arguments = STORY.split(":")
print(json.dumps(globals()[name](*arguments)))
