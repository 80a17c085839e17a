"""LangChain is the chat of the comparison on LangChain and LangGraph."""

import hashlib
import json
import sqlite3
import sys
import time

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.messages import AIMessageChunk, ToolMessage
from langchain.tools import ToolRuntime, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore
from langgraph.types import Command


@tool
def find_order(order: str) -> str:
    """finds an order"""
    print(f"found {order}", flush=True)
    return f"order {order}: a lamp for 4000 cents"


@tool
def refund(order: str, cents: int) -> str:
    """pays money back"""
    time.sleep(1)  # a payment takes a while
    print(f"paid {cents} for {order}", flush=True)
    return f"paid {cents} cents"


def mine(runtime):
    return "users", runtime.config["configurable"]["user"], "memories"


@tool
def remember(text: str, runtime: ToolRuntime) -> str:
    """keeps a fact about the user for later conversations"""
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    runtime.store.put(mine(runtime), key, {"text": text})
    return "Remembered."


@tool
def recall(words: str, runtime: ToolRuntime) -> list[dict]:
    """finds facts that were remembered, also in earlier conversations"""
    items = runtime.store.search(mine(runtime), limit=20)
    found = [{"id": i.key, "text": i.value["text"]} for i in items]
    wanted = set(words.lower().split())
    return [m for m in found if not wanted or wanted & set(m["text"].lower().split())]


@tool
def forget(id: str, runtime: ToolRuntime) -> str:
    """removes a fact that was remembered"""
    runtime.store.delete(mine(runtime), id)
    return "Forgotten."


def connect(file):
    return sqlite3.connect(file, check_same_thread=False, isolation_level=None)


store = SqliteStore(connect("memories.db"))
store.setup()
agent = create_agent(
    ChatOpenAI(model="gpt-5"),
    [find_order, refund, remember, recall, forget],
    system_prompt="You help the customers of a shop.",
    middleware=[HumanInTheLoopMiddleware(interrupt_on={"refund": True})],
    checkpointer=SqliteSaver(connect("chats.db")),
    store=store,
)
app = FastAPI()


def configure(chat, user):
    return {"configurable": {"thread_id": chat, "user": user}}


def stream(chat, user, given):
    config = configure(chat, user)

    def event(name, v):
        return f"event: {name}\ndata: {json.dumps(v)}\n\n"

    def events():
        modes = ["messages", "updates"]
        for mode, v in agent.stream(given, config, stream_mode=modes, durability="sync"):
            if mode == "messages":
                if isinstance(v[0], AIMessageChunk) and v[0].text:
                    yield event("text", v[0].text)
            elif "__interrupt__" in v:
                [q] = v["__interrupt__"]
                for call in q.value["action_requests"]:
                    args = json.dumps(call["args"])
                    yield event("question", {"id": q.id, "tool": call["name"], "args": args})
        state = agent.get_state(config)
        if not state.next:
            yield event("answer", state.values["messages"][-1].text)

    return StreamingResponse(events(), media_type="text/event-stream")


@app.post("/chats/{chat}")
def say(chat: str, user: str, message: str, text: str):
    given = {"role": "user", "id": message, "content": text}
    return stream(chat, user, {"messages": [given]})


@app.post("/chats/{chat}/answer")
def answer(chat: str, user: str, question: str, args: str):
    edited = {"name": "refund", "args": json.loads(args)}
    decision = {"type": "edit", "edited_action": edited}
    return stream(chat, user, Command(resume={question: {"decisions": [decision]}}))


@app.post("/chats/{chat}/resume")
def resume(chat: str, user: str):
    return stream(chat, user, None)


@app.post("/chats/{chat}/stop")
def stop(chat: str, user: str):
    config = configure(chat, user)
    messages = agent.get_state(config).values["messages"]
    done = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    calls = [c["id"] for c in getattr(messages[-1], "tool_calls", []) if c["id"] not in done]
    results = [ToolMessage("interrupted", tool_call_id=id) for id in calls]
    agent.update_state(config, {"messages": results}, as_node="tools")


host, port = sys.argv[1].split(":")
uvicorn.run(app, host=host, port=int(port))
