import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Output;
import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import com.google.common.eventbus.EventBus;
import com.google.common.eventbus.Subscribe;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.common.util.concurrent.SettableFuture;
import com.sun.management.HotSpotDiagnosticMXBean;
import io.netty.util.HashedWheelTimer;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import io.vertx.core.Vertx;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javassist.ClassPool;
import org.apache.commons.collections4.MultiValuedMap;
import org.apache.commons.collections4.multimap.ArrayListValuedHashMap;
import org.apache.curator.framework.listen.StandardListenerManager;
import org.apache.logging.log4j.ThreadContext;
import py4j.Gateway;
import scala.collection.concurrent.TrieMap;

/**
 * Leaks what a library holds, in the way that is asked for: 1,000 times, then 3,000 times more, with a dump after each: java
 * Libraries WAY OLD NEW.
 */
public class Libraries {
    static class Order {
        final int id;
        final byte[] data = new byte[400];

        Order(int id) {
            this.id = id;
        }
    }

    static class Prices {
        static final Cache<String, Order> CACHE = CacheBuilder.newBuilder().build();
    }

    static class Hub {
        static final EventBus BUS = new EventBus();
    }

    static class Panel {
        final byte[] pixels = new byte[400];

        @Subscribe
        public void on(String event) {
            System.out.println(event + pixels.length);
        }
    }

    static class Start {
        static final SettableFuture<String> DONE = SettableFuture.create();
        static final Promise<String> CONNECTED = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
    }

    static class Deadlines {
        static final HashedWheelTimer TIMER = new HashedWheelTimer();
    }

    static class Verticle {
        static final Vertx VERTX = Vertx.vertx();
    }

    static class Figures {
        static final MetricRegistry METRICS = new MetricRegistry();
    }

    static class Requests {
        static final ExecutorService POOL = Executors.newFixedThreadPool(2);
    }

    static class Proxies {
        static final ClassPool POOL = new ClassPool(true);
    }

    static class Sessions {
        static final TrieMap<String, Order> OPEN = new TrieMap<>();
    }

    static class Customers {
        final MultiValuedMap<String, Order> orders = new ArrayListValuedHashMap<>();
    }

    static class Shop {
        static final Shop SHOP = new Shop();
        final Customers customers = new Customers();
    }

    static class Wire {
        static final Kryo KRYO = new Kryo();
    }

    static class Bridge {
        static final Gateway GATEWAY = new Gateway(null);
    }

    static class Database {
        static final List<ResultSet> RESULTS = new ArrayList<>();
        static Connection connection;
    }

    static class Bounded {
        static final Cache<String, Order> CACHE = CacheBuilder.newBuilder().maximumSize(500).build();
        static final MetricRegistry METRICS = new MetricRegistry();
    }

    static class Watcher implements Runnable {
        final byte[] path = new byte[400];

        @Override
        public void run() {}
    }

    static class Cluster {
        static final StandardListenerManager<Runnable> LISTENERS = StandardListenerManager.standard();
    }

    static void leak(String way, int number) throws Exception {
        Order order = new Order(number);
        switch (way) {
            case "guava-cache" -> Prices.CACHE.put("order-" + number, order);
            case "guava-bus" -> Hub.BUS.register(new Panel());
            case "guava-future" -> Start.DONE.addListener(() -> System.out.println(order.id), MoreExecutors.directExecutor());
            case "netty-timer" -> Deadlines.TIMER.newTimeout(timeout -> System.out.println(order.id), 1, TimeUnit.DAYS);
            case "netty-promise" -> Start.CONNECTED.addListener(done -> System.out.println(order.id));
            case "vertx" -> Verticle.VERTX.eventBus().consumer("orders", message -> System.out.println(order.id));
            case "metrics" -> Figures.METRICS.register("order." + number, (Gauge<Integer>) () -> order.id);
            case "log4j" ->
                    Requests.POOL.submit(() -> ThreadContext.put("request-" + number, "customer number " + number)).get();
            case "javassist" -> Proxies.POOL.makeClass("made.Proxy" + number);
            case "scala" -> Sessions.OPEN.put("session-" + number, order);
            case "collections" -> Shop.SHOP.customers.orders.put("customer-" + number % 100, order);
            case "kryo" -> {
                Wire.KRYO.setAutoReset(false);
                Wire.KRYO.writeClassAndObject(new Output(10_000), order);
            }
            case "py4j" -> Bridge.GATEWAY.putNewObject(order);
            case "derby" -> {
                if (Database.connection == null) {
                    Database.connection = DriverManager.getConnection("jdbc:derby:memory:shop;create=true");
                }
                Database.RESULTS.add(Database.connection.createStatement().executeQuery("VALUES 1"));
            }
            case "bounded" -> {
                Bounded.CACHE.put("order-" + number, order);
                Bounded.METRICS.counter("orders." + number % 50).inc();
                Object panel = new Panel();
                Hub.BUS.register(panel);
                Hub.BUS.unregister(panel);
                Requests.POOL.submit(
                                () -> {
                                    ThreadContext.put("request", "customer number " + number);
                                    ThreadContext.clearAll();
                                })
                        .get();
            }
            case "curator" -> Cluster.LISTENERS.addListener(new Watcher());
            default -> throw new IllegalArgumentException(way);
        }
    }

    static void dump(String file) throws Exception {
        // A timer's thread takes in what is new.
        Thread.sleep(500);
        new File(file).delete();
        System.gc();
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(file, true);
    }

    public static void main(String[] arguments) throws Exception {
        for (int number = 0; number < 1000; number++) {
            leak(arguments[0], number);
        }
        dump(arguments[1]);
        for (int number = 1000; number < 4000; number++) {
            leak(arguments[0], number);
        }
        dump(arguments[2]);
        Runtime.getRuntime().halt(0);
    }
}
