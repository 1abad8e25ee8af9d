"""What the clients of PyPI see of the service: one story, as JSON. Usage: pypi_clients.py URL STORY"""

import asyncio
import inspect
import json
import sys
import uuid

from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command, interrupt
from langgraph_sdk import get_client, get_sync_client

url, story = sys.argv[1:]


def human(text):
    return {"messages": [{"role": "user", "content": text}]}


def last(values):
    return values["messages"][-1]["content"]


def names(found, field):
    return sorted(one[field] for one in found)


def kinds(parts):
    return list(dict.fromkeys(part.event for part in parts))


def text(parts):
    return "".join(part.data[0]["content"] for part in parts if part.event == "messages")


MODES = ["values", "updates", "messages-tuple", "custom", "tasks", "checkpoints", "debug", "events"]

# Every method that is offered: its name, the call with what earlier calls have left in `at`, and what is shown of its result.
METHODS = [
    ("assistants.search", lambda c, at: c.assistants.search(), lambda r: names(r, "name")),
    ("assistants.count", lambda c, at: c.assistants.count(), lambda r: r),
    ("assistants.get", lambda c, at: c.assistants.get("asks"), lambda r: r["graph_id"]),
    ("assistants.get_graph", lambda c, at: c.assistants.get_graph("conversation", xray=True), lambda r: len(r["nodes"]) > 5),
    ("assistants.get_schemas", lambda c, at: c.assistants.get_schemas("asks"), lambda r: "messages" in r["state_schema"]["properties"]),
    ("assistants.get_subgraphs", lambda c, at: c.assistants.get_subgraphs("asks"), lambda r: list(r)),
    ("assistants.get_versions", lambda c, at: c.assistants.get_versions("asks"), lambda r: len(r) > 0),
    ("threads.create", lambda c, at: c.threads.create(metadata={"user_id": "ada", "topic": at["topic"]}), lambda r: r["status"]),
    ("threads.update", lambda c, at: c.threads.update(at["thread"], metadata={"mood": "good"}), lambda r: r["metadata"]["mood"]),
    ("runs.stream", lambda c, at: c.runs.stream(at["thread"], "assistant", input=human("Hello"), stream_mode=MODES), text),
    ("runs.wait", lambda c, at: c.runs.wait(at["thread"], "assistant", input=human("And?")), last),
    ("runs.create", lambda c, at: c.runs.create(at["thread"], "assistant", input=human("Again"), stream_mode=["messages-tuple", "values"]),
     lambda r: r["status"] in ("pending", "running", "success")),
    ("runs.join", lambda c, at: c.runs.join(at["thread"], at["run"]), lambda r: len(r["messages"])),
    ("runs.join_stream", lambda c, at: c.runs.join_stream(at["thread"], at["run"]), kinds),
    ("runs.join_stream, behind an event", lambda c, at: c.runs.join_stream(at["thread"], at["run"], last_event_id="2"), lambda r: "metadata" in kinds(r)),
    ("runs.get", lambda c, at: c.runs.get(at["thread"], at["run"]), lambda r: r["status"]),
    ("runs.list", lambda c, at: c.runs.list(at["thread"]), lambda r: names(r, "status")),
    ("runs.cancel", lambda c, at: c.runs.cancel(at["thread"], at["run"], wait=True), lambda r: r),
    ("threads.get", lambda c, at: c.threads.get(at["thread"]), lambda r: [r["status"], r["metadata"]["mood"]]),
    ("threads.get_state", lambda c, at: c.threads.get_state(at["thread"]), lambda r: last(r["values"])),
    ("threads.get_state, at a checkpoint", lambda c, at: c.threads.get_state(at["thread"], checkpoint_id=at["run"]), lambda r: len(r["values"]["messages"])),
    ("threads.get_history", lambda c, at: c.threads.get_history(at["thread"], limit=2), lambda r: [len(one["values"]["messages"]) for one in r]),
    ("threads.search", lambda c, at: c.threads.search(metadata={"topic": at["topic"]}), lambda r: names(r, "status")),
    ("threads.count", lambda c, at: c.threads.count(metadata={"topic": at["topic"]}), lambda r: r),
    ("runs.delete", lambda c, at: c.runs.delete(at["thread"], at["run"]), lambda r: r),
    ("runs.wait, without a thread", lambda c, at: c.runs.wait(None, "assistant", input=human("Hi"), context={"user_id": "ada"}), last),
    ("runs.stream, without a thread", lambda c, at: c.runs.stream(None, "assistant", input=human("Hi"), stream_mode="messages-tuple"), text),
    ("store.put_item", lambda c, at: c.store.put_item([at["topic"], "core"], "profile", {"content": "A pilot."}), lambda r: r),
    ("store.get_item", lambda c, at: c.store.get_item([at["topic"], "core"], "profile"), lambda r: r["value"]["content"]),
    ("store.search_items", lambda c, at: c.store.search_items([at["topic"]]), lambda r: names(r["items"], "key")),
    ("store.list_namespaces", lambda c, at: c.store.list_namespaces(prefix=[at["topic"]]), lambda r: [one[1] for one in r["namespaces"]]),
    ("store.delete_item", lambda c, at: c.store.delete_item([at["topic"], "core"], "profile"), lambda r: r),
    ("threads.delete", lambda c, at: c.threads.delete(at["thread"]), lambda r: r),
]


async def settled(result):
    if inspect.isasyncgen(result) or hasattr(result, "__aiter__"):
        return [part async for part in result]
    if inspect.isgenerator(result):
        return list(result)
    return await result if inspect.isawaitable(result) else result


async def every_method(client):
    at = {"topic": str(uuid.uuid4())}
    seen = {}
    for name, call, show in METHODS:
        try:
            result = await settled(call(client, at))
            if name == "threads.create":
                at["thread"] = result["thread_id"]
            if name == "runs.create":
                at["run"] = result["run_id"]
            seen[name] = show(result)
        except Exception as error:
            seen[name] = f"{type(error).__name__}: {error}"
    return seen


async def errors(client):
    thread = (await settled(client.threads.create(metadata={"user_id": "ada"})))["thread_id"]
    seen = []
    for call in (
        lambda: client.threads.get(str(uuid.uuid4())),
        lambda: client.runs.wait(thread, "nobody", input=human("Hi")),
        lambda: client.runs.wait(thread, "assistant", input={"messages": []}),
        lambda: client.crons.create("assistant", schedule="* * * * *"),
    ):
        try:
            await settled(call())
            seen.append(None)
        except Exception as error:
            seen.append(getattr(error.response, "status_code", str(error)))
    parts = await settled(client.runs.stream(thread, "assistant", input=human("fail"), stream_mode=["values", "events"]))
    return [*seen, parts[-1].event, parts[-1].data.get("error")]


def remote_node():
    remote = RemoteGraph("conversation", url=url, api_key=None)
    outer = StateGraph(MessagesState).add_node("remembers", remote).add_edge(START, "remembers").add_edge("remembers", END).compile()
    config = {"configurable": {"thread_id": str(uuid.uuid4()), "user_id": "ada"}}
    first = outer.invoke(human("My boat is Argo."), config)
    second = outer.invoke(human("What is my boat called?"), config)
    return [first["messages"][-1].content, len(second["messages"])]


def interrupted():
    remote = RemoteGraph("asks", url=url, api_key=None)
    config = {"configurable": {"thread_id": str(uuid.uuid4()), "user_id": "ada"}}

    def orders(state):
        try:
            waits = [one for task in remote.get_state(config).tasks for one in task.interrupts]
        except Exception:
            waits = []
        given = Command(resume=interrupt(waits[0].value)) if waits else human(state["messages"][-1].content)
        values = remote.invoke(given, config)
        for one in values.get("__interrupt__", []):
            interrupt(one["value"])
        return {"messages": values["messages"][-1:]}

    graph = StateGraph(MessagesState).add_node("orders", orders).add_edge(START, "orders").add_edge("orders", END)
    outer = graph.compile(checkpointer=MemorySaver())
    around = {"configurable": {"thread_id": "outer"}}
    asked = outer.invoke(human("Order tea."), around)
    done = outer.invoke(Command(resume="allow_once"), around)
    return [asked["__interrupt__"][0].value["type"], done["messages"][-1].content]


stories = {
    "sync": lambda: asyncio.run(every_method(get_sync_client(url=url, api_key=None))),
    "async": lambda: asyncio.run(every_method(get_client(url=url, api_key=None))),
    "sync errors": lambda: asyncio.run(errors(get_sync_client(url=url, api_key=None))),
    "async errors": lambda: asyncio.run(errors(get_client(url=url, api_key=None))),
    "remote": remote_node,
    "interrupt": interrupted,
}
print(json.dumps(stories[story]()))
