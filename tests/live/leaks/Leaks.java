import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Timer;
import java.util.TimerTask;
import java.util.TreeMap;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Leaks in the way that is asked for: 4,000 times, then 12,000 times more, with a dump after each: java Leaks WAY OLD NEW. */
public class Leaks {
    static class Item {
        final int id;
        final byte[] data = new byte[200];

        Item(int id) {
            this.id = id;
        }
    }

    /** Healthy, and larger than what leaks at first. */
    static class Templates {
        static final List<byte[]> LOADED = new ArrayList<>();
    }

    static class Journal {
        static final List<Item> ENTRIES = new ArrayList<>();
    }

    static class Context {
        final Map<String, Item> values = new HashMap<>();
    }

    static class Requests {
        static final ThreadLocal<Context> CURRENT = ThreadLocal.withInitial(Context::new);
        static final ExecutorService POOL = Executors.newFixedThreadPool(4);
    }

    static class Hub {
        static final Hub HUB = new Hub();
        final List<Runnable> listeners = new ArrayList<>();
    }

    static class Panel {
        final byte[] pixels = new byte[300];

        void attach() {
            Hub.HUB.listeners.add(() -> System.out.println(this));
        }
    }

    static class Service {
        final Map<String, List<Item>> byCustomer = new TreeMap<>();
    }

    static class App {
        static final App APP = new App();
        final Map<String, Object> services = new HashMap<>();

        App() {
            services.put("orders", new Service());
            services.put("events", new Hub());
        }
    }

    static class Key {
        final byte[] data = new byte[64];
    }

    static class Value {
        final Key key;
        final byte[] data = new byte[200];

        Value(Key key) {
            this.key = key;
        }
    }

    static class Registry {
        static final Map<Key, Value> WEAK = new WeakHashMap<>();
        static final Map<String, Item> SORTED = new ConcurrentSkipListMap<>();
        static final Set<String> NAMES = ConcurrentHashMap.newKeySet();
    }

    static class Worker extends Thread {
        final byte[] buffer = new byte[20_000];

        @Override
        public void run() {
            try {
                Thread.sleep(100_000_000);
            } catch (InterruptedException interrupted) {
                // It ends.
            }
        }
    }

    static class Job extends TimerTask {
        final byte[] data = new byte[200];

        @Override
        public void run() {}
    }

    static class Jobs {
        static final Timer TIMER = new Timer("jobs", true);
        static final ConcurrentLinkedQueue<Item> QUEUE = new ConcurrentLinkedQueue<>();
        static final ScheduledThreadPoolExecutor TIMEOUTS = new ScheduledThreadPoolExecutor(1);
    }

    /** Held by a variable of main alone; its timer by the timer's thread as well. */
    static class Dispatcher {
        final Timer overdue = new Timer("overdue", true);
    }

    static class Book {
        static final Book BOOK = new Book();
        static final ArrayDeque<Item> LATEST = new ArrayDeque<>();
        final Map<Integer, Item> byId = new HashMap<>();
        final Map<String, Item> byName = new HashMap<>();

        void add(Item item) {
            byId.put(item.id, item);
            byName.put("item " + item.id, item);
            LATEST.add(item);
            if (LATEST.size() > 1000) {
                LATEST.poll();
            }
        }
    }

    static class Link {
        static Link head;
        final Link next = head;
        final Item item;

        Link(Item item) {
            this.item = item;
        }
    }

    static class Recent {
        static final Map<Integer, Item> ITEMS =
                new LinkedHashMap<>(16, .75f, true) {
                    @Override
                    protected boolean removeEldestEntry(Map.Entry<Integer, Item> eldest) {
                        return size() > 2000;
                    }
                };
    }

    static class Events {
        static final List<Item> ALL = new LinkedList<>();
    }

    static void leak(String way, int number, Dispatcher dispatcher) throws Exception {
        switch (way) {
            case "list" -> Journal.ENTRIES.add(new Item(number));
            case "linked-list" -> Events.ALL.add(new Item(number));
            case "own-list" -> Link.head = new Link(new Item(number));
            case "listeners" -> new Panel().attach();
            case "map-of-lists" ->
                    ((Service) App.APP.services.get("orders"))
                            .byCustomer.computeIfAbsent("c" + number % 50, key -> new ArrayList<>()).add(new Item(number));
            case "sorted-map" -> Registry.SORTED.put("a" + number % 7 + "/" + number, new Item(number));
            case "names" -> Registry.NAMES.add("customer-name-" + number);
            case "weak-map" -> {
                Key key = new Key();
                Registry.WEAK.put(key, new Value(key));
            }
            case "queue" -> Jobs.QUEUE.add(new Item(number));
            case "timer" -> Jobs.TIMER.schedule(new Job(), 100_000_000L);
            case "own-timer" -> dispatcher.overdue.schedule(new Job(), 100_000_000L);
            case "indexes" -> Book.BOOK.add(new Item(number));
            case "cancelled" -> Jobs.TIMEOUTS.schedule(() -> {}, 1, TimeUnit.DAYS).cancel(false);
            case "thread-local" ->
                    Requests.POOL.submit(() -> Requests.CURRENT.get().values.put("k" + number, new Item(number))).get();
            case "threads" -> {
                if (number % 50 == 0) {
                    Worker worker = new Worker();
                    worker.setDaemon(true);
                    worker.start();
                }
            }
            case "bounded" -> Recent.ITEMS.put(number, new Item(number));
            default -> throw new IllegalArgumentException(way);
        }
    }

    static void dump(String file) throws Exception {
        new File(file).delete();
        System.gc();
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(file, true);
    }

    public static void main(String[] arguments) throws Exception {
        for (int number = 0; number < 3000; number++) {
            Templates.LOADED.add(new byte[500]);
        }
        Dispatcher dispatcher = arguments[0].equals("own-timer") ? new Dispatcher() : null;
        for (int number = 0; number < 4000; number++) {
            leak(arguments[0], number, dispatcher);
        }
        dump(arguments[1]);
        for (int number = 4000; number < 16_000; number++) {
            leak(arguments[0], number, dispatcher);
        }
        dump(arguments[2]);
        System.exit(0);
    }
}
