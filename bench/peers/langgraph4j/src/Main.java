import static org.bsc.langgraph4j.StateGraph.END;
import static org.bsc.langgraph4j.StateGraph.START;
import static org.bsc.langgraph4j.action.AsyncEdgeAction.edge_async;
import static org.bsc.langgraph4j.action.AsyncNodeAction.node_async;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bsc.langgraph4j.CompileConfig;
import org.bsc.langgraph4j.CompiledGraph;
import org.bsc.langgraph4j.RunnableConfig;
import org.bsc.langgraph4j.StateGraph;
import org.bsc.langgraph4j.checkpoint.MemorySaver;
import org.bsc.langgraph4j.state.AgentState;
import org.bsc.langgraph4j.state.Channel;
import org.bsc.langgraph4j.state.Channels;

/**
 * Runs the graphs of the comparison on langgraph4j. A state is a map that is copied by Java serialization at each
 * node, so a step costs the size of the state. Branches must meet in one node: the fan-out has two nodes more. They
 * run one after the other, unless the caller gives an executor. There is no saver for SQLite.
 */
public final class Main {
  private static final int LOOP = 1000;
  private static final int WIDTH = 100;
  private static final long LEAST = 2_000_000_000L; // nanoseconds of a row, in which the JVM compiles
  private static final long MOST = 5_000_000_000L;
  private static final String TEXT = "x".repeat(200);

  private static final Map<String, Channel<?>> CONVERSATION =
      Map.of("messages", Channels.appenderWithDuplicate(ArrayList::new));
  private static final Map<String, Channel<?>> COUNTER = Map.of("n", Channels.base(Integer::sum, () -> 0));

  interface Body {
    void run() throws Exception;
  }

  static void row(String name, int units, Body body) throws Exception {
    long best = Long.MAX_VALUE;
    long begin = System.nanoTime();
    long now = begin;
    for (int runs = 0; runs == 0 || (runs < 3 || now - begin < LEAST) && now - begin < MOST; runs++) {
      long start = System.nanoTime();
      body.run();
      now = System.nanoTime();
      best = Math.min(best, now - start);
    }
    System.out.println(name + "\t" + best / units);
  }

  static void want(String what, int got, int want) {
    if (got != want) {
      throw new IllegalStateException(what + ": got " + got + ", want " + want);
    }
  }

  static StateGraph<AgentState> counters(int n) throws Exception {
    var graph = new StateGraph<>(COUNTER, AgentState::new);
    for (int i = 0; i < n; i++) {
      graph.addNode("n" + i, node_async(s -> Map.of("n", 1)));
    }
    return graph;
  }

  static void count(CompiledGraph<AgentState> graph, int want) {
    AgentState end = graph.invoke(Map.of()).orElseThrow();
    want("count", end.<Integer>value("n").orElseThrow(), want);
  }

  public static void main(String[] args) throws Exception {
    var loop =
        new StateGraph<>(CONVERSATION, AgentState::new)
            .addNode(
                "say",
                node_async(
                    s ->
                        Map.of(
                            "step", s.<Integer>value("step").orElse(0) + 1,
                            "messages", List.of(Map.of("role", "assistant", "text", TEXT)))))
            .addEdge(START, "say")
            .addConditionalEdges(
                "say",
                edge_async(s -> s.<Integer>value("step").orElse(0) < LOOP ? "again" : "end"),
                Map.of("again", "say", "end", END));
    row(
        "loop, in memory",
        LOOP,
        () -> {
          var graph =
              loop.compile(
                  CompileConfig.builder().checkpointSaver(new MemorySaver()).recursionLimit(2 * LOOP).build());
          var config = RunnableConfig.builder().threadId("t").build();
          AgentState end = graph.invoke(Map.of(), config).orElseThrow();
          want("messages", end.<List<?>>value("messages").orElseThrow().size(), LOOP);
        });

    var chain = counters(WIDTH).addEdge(START, "n0").addEdge("n" + (WIDTH - 1), END);
    for (int i = 1; i < WIDTH; i++) {
      chain.addEdge("n" + (i - 1), "n" + i);
    }
    var chained = chain.compile(CompileConfig.builder().recursionLimit(2 * WIDTH).build());
    row("chain", WIDTH, () -> count(chained, WIDTH));

    var fan =
        counters(WIDTH)
            .addNode("begin", node_async(s -> Map.of()))
            .addNode("end", node_async(s -> Map.of()))
            .addEdge(START, "begin")
            .addEdge("end", END);
    for (int i = 0; i < WIDTH; i++) {
      fan.addEdge("begin", "n" + i).addEdge("n" + i, "end");
    }
    var fanned = fan.compile();
    row("fan-out", WIDTH, () -> count(fanned, WIDTH));
  }
}
