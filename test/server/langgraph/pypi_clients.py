"""What the clients of PyPI see of the service: one story, as JSON. Usage: pypi_clients.py URL STORY"""

import asyncio
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


def sync_client():
    client = get_sync_client(url=url, api_key=None)
    thread = client.threads.create(metadata={"user_id": "ada", "topic": "python"})
    events = [(part.event, part.data) for part in client.runs.stream(
        thread["thread_id"], "conversation", input=human("Hello"), stream_mode=["values", "updates", "messages-tuple", "custom"])]
    text = "".join(data[0]["content"] for event, data in events if event == "messages")
    state = client.threads.get_state(thread["thread_id"])
    history = client.threads.get_history(thread["thread_id"])
    runs = client.runs.list(thread["thread_id"])
    found = client.threads.search(metadata={"topic": "python"})
    client.threads.delete(thread["thread_id"])
    return [events[0][0], text, last(state["values"]), len(history), runs[0]["status"], len(found)]


async def async_client():
    client = get_client(url=url, api_key=None)
    thread = await client.threads.create(metadata={"user_id": "ada"})
    values = await client.runs.wait(thread["thread_id"], "assistant", input=human("Hello"))
    run = await client.runs.create(thread["thread_id"], "assistant", input=human("Again"), stream_mode="messages-tuple")
    joined = await client.runs.join(thread["thread_id"], run["run_id"])
    events = [part.event async for part in client.runs.join_stream(thread["thread_id"], run["run_id"])]
    assistants = await client.assistants.search()
    graph = await client.assistants.get_graph("conversation")
    return [last(values), len(joined["messages"]), events[0], "messages" in events, assistants[0]["name"], len(graph["nodes"]) > 5]


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
    "sync": sync_client,
    "async": lambda: asyncio.run(async_client()),
    "remote": remote_node,
    "interrupt": interrupted,
}
print(json.dumps(stories[story]()))
