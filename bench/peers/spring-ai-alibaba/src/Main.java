import static com.alibaba.cloud.ai.graph.StateGraph.END;
import static com.alibaba.cloud.ai.graph.StateGraph.START;
import static com.alibaba.cloud.ai.graph.action.AsyncEdgeAction.edge_async;
import static com.alibaba.cloud.ai.graph.action.AsyncNodeAction.node_async;

import com.alibaba.cloud.ai.graph.CompileConfig;
import com.alibaba.cloud.ai.graph.CompiledGraph;
import com.alibaba.cloud.ai.graph.KeyStrategy;
import com.alibaba.cloud.ai.graph.KeyStrategyFactory;
import com.alibaba.cloud.ai.graph.OverAllState;
import com.alibaba.cloud.ai.graph.RunnableConfig;
import com.alibaba.cloud.ai.graph.StateGraph;
import com.alibaba.cloud.ai.graph.checkpoint.config.SaverConfig;
import com.alibaba.cloud.ai.graph.checkpoint.savers.MemorySaver;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Runs the graphs of the comparison on Spring AI Alibaba Graph. A state is a map that is copied through a serializer at
 * each node, so a step costs the size of the state. Branches must meet in one node: the fan-out has two nodes more.
 * A step is a call in the one before it: a loop of 1,000 overflows a stack of the default size, so everything runs on a
 * thread with a stack of 1 GB. A reducer may get the old value as an Optional. There is no saver for SQLite.
 */
public final class Main {
  private static final int LOOP = 1000;
  private static final int WIDTH = 100;
  private static final long LEAST = 2_000_000_000L; // nanoseconds of a row, in which the JVM compiles
  private static final long MOST = 5_000_000_000L;
  private static final String TEXT = "x".repeat(200);

  private static final KeyStrategyFactory CONVERSATION =
      () -> Map.of("messages", KeyStrategy.APPEND, "step", KeyStrategy.REPLACE);
  private static final KeyStrategyFactory COUNTER =
      () -> Map.of("n", (before, update) -> number(before) + number(update));

  /** Returns a number that a reducer gets: the old one may come as an Optional. */
  static int number(Object value) {
    Object plain = value instanceof Optional<?> optional ? optional.orElse(null) : value;
    return plain == null ? 0 : (Integer) plain;
  }

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

  static CompileConfig config(SaverConfig saver) {
    return CompileConfig.builder().saverConfig(saver).recursionLimit(2 * LOOP).build();
  }

  /** The default is a saver in memory, and then a run continues the one before it. */
  static SaverConfig noSaver() {
    return SaverConfig.builder().build();
  }

  static StateGraph counters(int n) throws Exception {
    var graph = new StateGraph(COUNTER);
    for (int i = 0; i < n; i++) {
      graph.addNode("n" + i, node_async(s -> Map.of("n", 1)));
    }
    return graph;
  }

  static void count(CompiledGraph graph, int want) {
    OverAllState end = graph.invoke(Map.of("n", 0)).orElseThrow();
    want("count", end.<Integer>value("n").orElseThrow(), want);
  }

  public static void main(String[] args) {
    Runnable measure =
        () -> {
          try {
            measure();
            System.exit(0);
          } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
          }
        };
    new Thread(null, measure, "measure", 1L << 30).start();
  }

  static void measure() throws Exception {
    var loop =
        new StateGraph(CONVERSATION)
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
          var graph = loop.compile(config(SaverConfig.builder().register(new MemorySaver()).build()));
          var thread = RunnableConfig.builder().threadId("t").build();
          OverAllState end = graph.invoke(Map.of("step", 0), thread).orElseThrow();
          want("messages", end.<List<?>>value("messages").orElseThrow().size(), LOOP);
        });

    var chain = counters(WIDTH).addEdge(START, "n0").addEdge("n" + (WIDTH - 1), END);
    for (int i = 1; i < WIDTH; i++) {
      chain.addEdge("n" + (i - 1), "n" + i);
    }
    var chained = chain.compile(config(noSaver()));
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
    var fanned = fan.compile(config(noSaver()));
    row("fan-out", WIDTH, () -> count(fanned, WIDTH));
  }
}
