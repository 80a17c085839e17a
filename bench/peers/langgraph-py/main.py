"""Runs the graphs of the comparison on LangGraph for Python."""

import operator
import os
import sqlite3
import sys
import tempfile
import time
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

LOOP, CHAIN, FAN = 1000, 100, 100
TEXT = "x" * 200


class Conversation(TypedDict):
    step: int
    messages: Annotated[list, operator.add]


class Counter(TypedDict):
    n: Annotated[int, operator.add]


def want(what, got, expected):
    if got != expected:
        raise ValueError(f"{what}: got {got}, want {expected}")


def row(name, units, f):
    best, begin, runs = float("inf"), time.perf_counter(), 0
    while runs < 3 or time.perf_counter() - begin < 0.5:
        start = time.perf_counter()
        f()
        best, runs = min(best, time.perf_counter() - start), runs + 1
    print(f"{name}\t{round(best * 1e9 / units)}", flush=True)


def say(state):
    return {"step": state["step"] + 1, "messages": [{"role": "assistant", "text": TEXT}]}


def counting(n, wire):
    builder = StateGraph(Counter)
    ids = [f"n{i}" for i in range(n)]
    for node in ids:
        builder.add_node(node, lambda state: {"n": 1})
    wire(builder, ids)
    graph = builder.compile()
    return lambda: want("count", graph.invoke({"n": 0}, {"recursion_limit": 2 * n})["n"], n)


def in_a_row(builder, ids):
    for src, dst in zip([START] + ids, ids + [END]):
        builder.add_edge(src, dst)


def side_by_side(builder, ids):
    for node in ids:
        builder.add_edge(START, node)
        builder.add_edge(node, END)


def loop():
    builder = StateGraph(Conversation)
    builder.add_node("say", say)
    builder.add_edge(START, "say")
    builder.add_conditional_edges("say", lambda state: "say" if state["step"] < LOOP else END, ["say", END])
    runs = 0

    def run():
        nonlocal runs
        runs += 1
        graph = builder.compile(checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": str(runs)}, "recursion_limit": 2 * LOOP}
        want("messages", len(graph.invoke({"step": 0, "messages": []}, config)["messages"]), LOOP)

    row("loop, in memory", LOOP, run)


def turns():
    with tempfile.TemporaryDirectory() as folder:
        conn = sqlite3.connect(os.path.join(folder, "threads.db"), check_same_thread=False)
        builder = StateGraph(Conversation)
        builder.add_node("say", say)
        builder.add_edge(START, "say")
        builder.add_edge("say", END)
        graph = builder.compile(checkpointer=SqliteSaver(conn))
        first = last = float("inf")
        for turn in range(1, 1005):
            start = time.perf_counter()
            state = graph.invoke({"step": turn, "messages": []}, {"configurable": {"thread_id": "t"}})
            took = time.perf_counter() - start
            want("messages", len(state["messages"]), turn)
            if 7 <= turn <= 13:
                first = min(first, took)
            elif turn >= 997:
                last = min(last, took)
        conn.close()
    print(f"SQLite, turn 10\t{round(first * 1e9)}\nSQLite, turn 1,000\t{round(last * 1e9)}", flush=True)


def main():
    loop()
    row("chain", CHAIN, counting(CHAIN, in_a_row))
    row("fan-out", FAN, counting(FAN, side_by_side))
    turns()
    return 0


if __name__ == "__main__":
    sys.exit(main())
