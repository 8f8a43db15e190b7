//! Every shape of a leak that has a name, in dumps made for it: 100 objects before, 700 after, below the types and references
//! that libraries have there.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::cmd::{project, run};
use crate::common::heap::Heap;
use crate::common::synth::{Shape, ibm_classic};
use crate::common::synth_java::{Held, JavaDump};
use crate::common::synth_phd::{FORMS, phd};
use crate::common::synth_v8::{Node, node, v8_nodes};

const COUNTS: [u64; 2] = [100, 700];

/// Types and the field of each that leads on.
type Steps = &'static [(&'static str, &'static str)];

/// A class with a static variable, what is below it down to an array, and what that holds; the shape's name.
type JavaCase = (&'static str, (&'static str, &'static str), Steps, &'static str);

const APP: (&str, &str) = ("shop.App", "held");
const MAP: (&str, &str) = ("java.util.concurrent.ConcurrentHashMap", "table");
const LIST: (&str, &str) = ("java.util.ArrayList", "elementData");
const ITEM: &str = "shop.Item";

const JAVA: [JavaCase; 26] = [
    (
        "tomcat-sessions",
        APP,
        &[("org.apache.catalina.session.StandardManager", "sessions"), MAP],
        "org.apache.catalina.session.StandardSession",
    ),
    (
        "jetty-sessions",
        APP,
        &[("org.eclipse.jetty.server.session.DefaultSessionCache", "_sessions"), MAP],
        "org.eclipse.jetty.server.session.Session",
    ),
    (
        "undertow-sessions",
        APP,
        &[("io.undertow.server.session.InMemorySessionManager", "sessions"), MAP],
        "io.undertow.server.session.InMemorySessionManager$SessionImpl",
    ),
    ("spring-sessions", APP, &[("org.springframework.session.MapSessionRepository", "sessions"), MAP], ITEM),
    (
        "guava-cache",
        APP,
        &[
            ("com.google.common.cache.LocalCache$LocalManualCache", "localCache"),
            ("com.google.common.cache.LocalCache", "segments"),
        ],
        ITEM,
    ),
    ("caffeine-cache", APP, &[("com.github.benmanes.caffeine.cache.UnboundedLocalCache", "data"), MAP], ITEM),
    ("bounded-caffeine-cache", APP, &[("com.github.benmanes.caffeine.cache.SSMS", "data"), MAP], ITEM),
    ("ehcache", APP, &[("org.ehcache.impl.internal.store.heap.OnHeapStore", "map"), MAP], ITEM),
    (
        "hibernate-context",
        APP,
        &[
            ("org.hibernate.engine.internal.StatefulPersistenceContext", "entitiesByKey"),
            ("java.util.HashMap", "table"),
        ],
        ITEM,
    ),
    ("open-results", APP, &[LIST], "org.h2.jdbc.JdbcResultSet"),
    ("wheel-timer", APP, &[("io.netty.util.HashedWheelTimer", "wheel")], ITEM),
    (
        "scheduled-tasks",
        APP,
        &[
            ("java.util.concurrent.ScheduledThreadPoolExecutor", "workQueue"),
            ("java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue", "queue"),
        ],
        ITEM,
    ),
    (
        "pool-queue",
        APP,
        &[
            ("java.util.concurrent.ThreadPoolExecutor", "workQueue"),
            ("java.util.concurrent.ArrayBlockingQueue", "items"),
        ],
        ITEM,
    ),
    (
        "fork-join-queue",
        APP,
        &[("java.util.concurrent.ForkJoinPool", "queues"), ("java.util.concurrent.ForkJoinPool$WorkQueue", "array")],
        ITEM,
    ),
    ("timer", APP, &[("java.util.Timer", "queue"), ("java.util.TaskQueue", "queue")], ITEM),
    ("logging-handlers", APP, &[("java.util.logging.Logger", "handlers"), LIST], ITEM),
    ("mdc", APP, &[("ch.qos.logback.classic.util.LogbackMDCAdapter", "values"), ("java.util.HashMap", "table")], ITEM),
    ("delete-on-exit", ("java.io.DeleteOnExitHook", "files"), &[("java.util.HashMap", "table")], "java.lang.String"),
    (
        "shutdown-hooks",
        ("java.lang.ApplicationShutdownHooks", "hooks"),
        &[("java.util.IdentityHashMap", "table")],
        ITEM,
    ),
    (
        "thread-local",
        APP,
        &[("java.lang.Thread", "threadLocals"), ("java.lang.ThreadLocal$ThreadLocalMap", "table")],
        ITEM,
    ),
    ("weak-map", APP, &[("java.util.WeakHashMap", "table")], ITEM),
    ("finalizer", ("java.lang.ref.Finalizer", "unfinalized"), &[], ITEM),
    ("promise-chain", APP, &[("java.util.concurrent.CompletableFuture", "stack")], ITEM),
    ("cow-listeners", ("shop.App", "listeners"), &[("java.util.concurrent.CopyOnWriteArrayList", "array")], ITEM),
    ("android-fragments", APP, &[LIST], "androidx.fragment.app.Fragment"),
    ("android-views", APP, &[LIST], "android.view.View"),
];

fn java((_, (class, variable), steps, element): JavaCase, count: u64) -> Vec<u8> {
    const ARRAY: u64 = 0x8000;
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let array = dump.class("[Ljava.lang.Object;", object, &[], &[]);
    let id = |step: usize| if step < steps.len() { 0x1000 + 0x100 * step as u64 } else { ARRAY };
    for (at, &(type_name, field)) in steps.iter().enumerate() {
        let class = dump.class(type_name, object, &[(field, Held::Reference(0))], &[]);
        dump.instance(id(at), class, &[Held::Reference(id(at + 1))]);
    }
    dump.class(class, object, &[], &[(variable, Held::Reference(id(0)))]);
    // Android's states: nothing manages or shows it any more.
    let fields = ["data", "mFragmentManager", "mAttachInfo"].map(|name| (name, Held::Reference(0)));
    let class = dump.class(element, object, &fields, &[]);
    let elements: Vec<u64> = (0..count).map(|number| 0x10_0000 + 0x100 * number).collect();
    for &id in &elements {
        dump.instance(id, class, &[Held::Reference(id + 0x80), Held::Reference(0), Held::Reference(0)]);
        dump.primitives(id + 0x80, 8, 1, &[0; 300]);
    }
    dump.references(ARRAY, array, &elements);
    dump.finish()
}

/// Objects of plugins in a list: each of a class of one name, of a loader of its own.
fn loaders(count: u64) -> Vec<u8> {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let array = dump.class("[Ljava.lang.Object;", object, &[], &[]);
    let above = dump.class("java.lang.ClassLoader", object, &[], &[]);
    let loader = dump.class("shop.PluginLoader", above, &[("data", Held::Reference(0))], &[]);
    let loaders: Vec<u64> = (0..count / 20).map(|number| 0x10_0000 + 0x1000 * number).collect();
    for &id in &loaders {
        let plugin = dump.loaded_class("shop.Plugin", object, id, &[]);
        dump.instance(id, loader, &[Held::Reference(id + 0x80)]);
        dump.primitives(id + 0x80, 8, 1, &[0; 9000]);
        dump.instance(id + 0x40, plugin, &[]);
    }
    dump.references(0x8000, array, &loaders.iter().map(|id| id + 0x40).collect::<Vec<_>>());
    dump.class("shop.App", object, &[], &[("held", Held::Reference(0x8000))]);
    dump.finish()
}

/// Futures in a list, all of them cancelled.
fn cancelled(count: u64) -> Vec<u8> {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let array = dump.class("[Ljava.lang.Object;", object, &[], &[]);
    let future = dump.class("java.util.concurrent.FutureTask", object, &[("state", Held::Int(0))], &[]);
    let class = dump.class("shop.Task", future, &[("data", Held::Reference(0))], &[]);
    let tasks: Vec<u64> = (0..count).map(|number| 0x10_0000 + 0x100 * number).collect();
    for &id in &tasks {
        dump.instance(id, class, &[Held::Reference(id + 0x80), Held::Int(4)]);
        dump.primitives(id + 0x80, 8, 1, &[0; 300]);
    }
    dump.references(0x8000, array, &tasks);
    dump.class("shop.App", object, &[], &[("held", Held::Reference(0x8000))]);
    dump.finish()
}

/// Lists of the thread in Netty's array of values, at two places; the static variables that have the FastThreadLocals.
fn fast_thread_local(count: u64) -> Vec<u8> {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let array = dump.class("[Ljava.lang.Object;", object, &[], &[]);
    let local = dump.class("io.netty.util.concurrent.FastThreadLocal", object, &[("index", Held::Int(0))], &[]);
    let own_local = dump.class("shop.Requests$1", local, &[], &[]);
    let values = dump.class(
        "io.netty.util.internal.InternalThreadLocalMap",
        object,
        &[("indexedVariables", Held::Reference(0))],
        &[],
    );
    let thread = dump.class("java.lang.Thread", object, &[("threadLocalMap", Held::Reference(0))], &[]);
    let list = dump.class("java.util.ArrayList", object, &[("elementData", Held::Reference(0))], &[]);
    let item = dump.class("shop.Item", object, &[("data", Held::Reference(0))], &[]);
    let items: Vec<u64> = (0..count).map(|number| 0x10_0000 + 0x200 * number).collect();
    for &id in &items {
        dump.instance(id, item, &[Held::Reference(id + 0x80)]);
        dump.primitives(id + 0x80, 8, 1, &[0; 300]);
    }
    dump.references(0x8000, array, &items);
    dump.references(0x8100, array, &[]);
    dump.instance(0x7000, list, &[Held::Reference(0x8000)]);
    dump.instance(0x7100, list, &[Held::Reference(0x8100)]);
    dump.references(0x6000, array, &[0, 0x7100, 0, 0x7000]);
    dump.instance(0x5000, values, &[Held::Reference(0x6000)]);
    dump.instance(0x4000, thread, &[Held::Reference(0x5000)]);
    dump.thread(0x4000, 1, 1);
    dump.instance(0x3000, local, &[Held::Int(1)]);
    dump.instance(0x3100, own_local, &[Held::Int(3)]);
    let statics = [("OTHER", Held::Reference(0x3000)), ("CURRENT", Held::Reference(0x3100))];
    dump.class("shop.Requests", object, &[], &statics);
    dump.finish()
}

/// A queue with its first node and its last, of lambdas of a class of the name QueueLambda that each keep an order.
fn queue(count: u64) -> Vec<u8> {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let ends = ["head", "last"].map(|name| (name, Held::Reference(0)));
    let queue = dump.class("java.util.concurrent.LinkedBlockingQueue", object, &ends, &[]);
    let fields = ["next", "item"].map(|name| (name, Held::Reference(0)));
    let link = dump.class("java.util.concurrent.LinkedBlockingQueue$Node", object, &fields, &[]);
    let lambda = dump.class("shop.QueueLambda$$Lambda+0x1c08", object, &[("arg$1", Held::Reference(0))], &[]);
    let order = dump.class("shop.QueueLambda$Order", object, &[("data", Held::Reference(0))], &[]);
    let links: Vec<u64> = (0..count).map(|number| 0x10_0000 + 0x200 * number).collect();
    for (at, &id) in links.iter().enumerate() {
        let next = links.get(at + 1).copied().unwrap_or(0);
        dump.instance(id, link, &[Held::Reference(next), Held::Reference(id + 0x20)]);
        dump.instance(id + 0x20, lambda, &[Held::Reference(id + 0x40)]);
        dump.instance(id + 0x40, order, &[Held::Reference(id + 0x80)]);
        dump.primitives(id + 0x80, 8, 1, &[0; 300]);
    }
    let last = links.last().copied().unwrap_or(0);
    dump.instance(0x7000, queue, &[Held::Reference(links[0]), Held::Reference(last)]);
    dump.class("shop.App", object, &[], &[("held", Held::Reference(0x7000))]);
    dump.finish()
}

/// A table whose bins are trees before, and lists after; each value is a listener without a name of a document.
fn table(count: u64) -> Vec<u8> {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let array = dump.class("[Ljava.util.HashMap$Node;", object, &[], &[]);
    let fields = ["next", "value"].map(|name| (name, Held::Reference(0)));
    let node = dump.class("java.util.HashMap$Node", object, &fields, &[]);
    let tree = dump.class("java.util.HashMap$TreeNode", node, &[], &[]);
    let map = dump.class("java.util.HashMap", object, &[("table", Held::Reference(0))], &[]);
    let listener = dump.class("shop.Document$1", object, &[("this$0", Held::Reference(0))], &[]);
    let document = dump.class("shop.Document", object, &[("data", Held::Reference(0))], &[]);
    let entries: Vec<u64> = (0..count).map(|number| 0x10_0000 + 0x200 * number).collect();
    for (at, &id) in entries.iter().enumerate() {
        // Two in a bin.
        let next = if at % 2 == 0 { entries.get(at + 1).copied().unwrap_or(0) } else { 0 };
        let class = if count == COUNTS[0] { tree } else { node };
        dump.instance(id, class, &[Held::Reference(next), Held::Reference(id + 0x40)]);
        dump.instance(id + 0x40, listener, &[Held::Reference(id + 0x60)]);
        dump.instance(id + 0x60, document, &[Held::Reference(id + 0x80)]);
        dump.primitives(id + 0x80, 8, 1, &[0; 300]);
    }
    let bins: Vec<u64> = entries.iter().copied().step_by(2).collect();
    dump.references(0x8000, array, &bins);
    dump.instance(0x7000, map, &[Held::Reference(0x8000)]);
    dump.class("shop.App", object, &[], &[("held", Held::Reference(0x7000))]);
    dump.finish()
}

/// Items in a list, beside a timer that is cleaned up behind 20 open archives: first of the list before, last of it after.
fn archives_to_clean_up(count: u64) -> Vec<u8> {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let array = dump.class("[Ljava.lang.Object;", object, &[], &[]);
    let next = [("next", Held::Reference(0))];
    let cleanable = dump.class("jdk.internal.ref.PhantomCleanable", object, &next, &[]);
    let action = [("action", Held::Reference(0))];
    let [of_timer, of_archive] = ["jdk.internal.ref.CleanerImpl$PhantomCleanableRef", "java.io.FileCleanable"]
        .map(|name| dump.class(name, cleanable, &action, &[]));
    let archive = dump.class("java.util.zip.ZipFile$Source", object, &[("cen", Held::Reference(0))], &[]);
    let timer = dump.class("java.util.Timer", object, &[("cleanup", Held::Reference(0))], &[]);
    let item = dump.class(ITEM, object, &[("data", Held::Reference(0))], &[]);
    let archives: Vec<u64> = (0..20).map(|number| 0x2_0000 + 0x100 * number).collect();
    for (at, &id) in archives.iter().enumerate() {
        let next = archives.get(at + 1).map_or(0, |id| id + 0x40);
        dump.instance(id, archive, &[Held::Reference(id + 0x80)]);
        dump.instance(id + 0x40, of_archive, &[Held::Reference(id), Held::Reference(next)]);
        dump.primitives(id + 0x80, 8, 1, &[0; 100_000]);
    }
    let next = if count == COUNTS[0] { archives[0] + 0x40 } else { 0 };
    dump.instance(0x7000, timer, &[Held::Reference(0x7100)]);
    dump.instance(0x7100, of_timer, &[Held::Reference(0), Held::Reference(next)]);
    let items: Vec<u64> = (0..count).map(|number| 0x10_0000 + 0x100 * number).collect();
    for &id in &items {
        dump.instance(id, item, &[Held::Reference(id + 0x80)]);
        dump.primitives(id + 0x80, 8, 1, &[0; 300]);
    }
    dump.references(0x8000, array, &items);
    dump.references(0x8100, array, &archives);
    dump.class("shop.App", object, &[], &[("held", Held::Reference(0x8000)), ("timer", Held::Reference(0x7000))]);
    dump.class("java.util.zip.ZipFile", object, &[], &[("files", Held::Reference(0x8100))]);
    dump.finish()
}

/// Buffers in a list, each with a MiB outside the heap.
fn direct_buffers(count: u64) -> Vec<u8> {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let array = dump.class("[Ljava.lang.Object;", object, &[], &[]);
    let fields = [("capacity", Held::Int(0)), ("cleaner", Held::Reference(0))];
    let class = dump.class("java.nio.DirectByteBuffer", object, &fields, &[]);
    let cleaner = dump.class("jdk.internal.ref.Cleaner", object, &[], &[]);
    let buffers: Vec<u64> = (0..count).map(|number| 0x10_0000 + 0x100 * number).collect();
    for &id in &buffers {
        dump.instance(id, class, &[Held::Int(1 << 20), Held::Reference(id + 0x80)]);
        dump.instance(id + 0x80, cleaner, &[]);
    }
    dump.references(0x8000, array, &buffers);
    dump.class("shop.App", object, &[], &[("held", Held::Reference(0x8000))]);
    dump.finish()
}

/// Entries of a map whose keys have one of 20 values; or of ten maps, each of which has a key once.
fn equal_keys(maps: u64, count: u64) -> Vec<u8> {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let array = dump.class("[Ljava.util.HashMap$Node;", object, &[], &[]);
    let map = dump.class("java.util.HashMap", object, &[("table", Held::Reference(0))], &[]);
    let fields = ["key", "value"].map(|name| (name, Held::Reference(0)));
    let entry = dump.class("java.util.HashMap$Node", object, &fields, &[]);
    let key = dump.class("shop.Key", object, &[("number", Held::Int(0))], &[]);
    let item = dump.class("shop.Item", object, &[("data", Held::Reference(0))], &[]);
    let entries: Vec<u64> = (0..count).map(|number| 0x10_0000 + 0x100 * number).collect();
    for (at, &id) in entries.iter().enumerate() {
        dump.instance(id, entry, &[Held::Reference(id + 0x20), Held::Reference(id + 0x40)]);
        let values = if maps == 1 { 20 } else { count / maps };
        dump.instance(id + 0x20, key, &[Held::Int((at as u64 % values) as i32)]);
        dump.instance(id + 0x40, item, &[Held::Reference(id + 0x80)]);
        dump.primitives(id + 0x80, 8, 1, &[0; 300]);
    }
    let tables = entries.chunks((count / maps) as usize).zip(0u64..);
    let ids: Vec<u64> = (0..maps).map(|at| 0x7000 + 8 * at).collect();
    for (entries, at) in tables {
        dump.references(0x8000 + 8 * at, array, entries);
        dump.instance(ids[at as usize], map, &[Held::Reference(0x8000 + 8 * at)]);
    }
    dump.references(0x6000, array, &ids);
    dump.class("shop.App", object, &[], &[("held", Held::Reference(if maps == 1 { ids[0] } else { 0x6000 }))]);
    dump.finish()
}

/// Activities in a list, all but one of them destroyed.
fn activities(count: u64) -> Vec<u8> {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let array = dump.class("[Ljava.lang.Object;", object, &[], &[]);
    let above = dump.class("android.app.Activity", object, &[("mDestroyed", Held::Boolean(false))], &[]);
    let class = dump.class("shop.MainActivity", above, &[("view", Held::Reference(0))], &[]);
    let activities: Vec<u64> = (0..count / 100).map(|number| 0x10_0000 + 0x1000 * number).collect();
    for (at, &id) in activities.iter().enumerate() {
        // The last is alive.
        let is_destroyed = at + 1 < activities.len();
        dump.instance(id, class, &[Held::Reference(id + 0x80), Held::Boolean(is_destroyed)]);
        dump.primitives(id + 0x80, 8, 1, &[0; 500]);
    }
    dump.references(0x8000, array, &activities);
    dump.class("shop.App", object, &[], &[("held", Held::Reference(0x8000))]);
    dump.finish()
}

/// Below the global object.
const NODE: [(&str, Steps); 6] = [
    ("node-timers", &[("TimersList", "list")]),
    ("event-listeners", &[("EventEmitter", "_events"), ("Object", "paid")]),
    ("event-target-listeners", &[("AbortSignal", "events")]),
    ("dataloader", &[("DataLoader", "_cacheMap"), ("Map", "table")]),
    ("express-session", &[("MemoryStore", "sessions")]),
    ("async-local-storage", &[("AsyncContextFrame", "store")]),
];

fn v8(steps: Steps, count: u64) -> Vec<u8> {
    let mut nodes: Vec<Node> = vec![
        node("synthetic", "", 0).edge("shortcut", "global", 1),
        node("object", "global", 40).edge("property", "app", 2),
    ];
    for &(type_name, field) in steps {
        let next = nodes.len() + 1;
        nodes.push(node("object", type_name, 40).edge("property", field, next));
    }
    let first = nodes.len() + 1;
    let array = node("array", "(object elements)", 16);
    nodes.push((0..count as usize).fold(array, |array, at| array.edge("element", at, first + 2 * at)));
    for at in 0..count as usize {
        nodes.push(node("object", "Order", 40).edge("property", "text", first + 2 * at + 1));
        nodes.push(node("string", format!("text {at}"), 300));
    }
    v8_nodes(&nodes)
}

/// A static variable of a class, types below it down to an array, types between that and what is kept.
const DOTNET: [(&str, &[&str], &[&str]); 6] = [
    (
        "dotnet-memory-cache",
        &[
            "Microsoft.Extensions.Caching.Memory.MemoryCache",
            "System.Collections.Concurrent.ConcurrentDictionary`2[[System.Object],[Microsoft.Extensions.Caching.Memory.CacheEntry]]",
        ],
        &["Microsoft.Extensions.Caching.Memory.CacheEntry"],
    ),
    ("dotnet-timers", &["System.Threading.TimerQueue"], &["System.Threading.TimerQueueTimer"]),
    ("dotnet-events", &["System.EventHandler"], &["System.EventHandler"]),
    ("", &["System.Collections.Generic.List`1[[Shop.Item]]"], &[]),
    (
        "",
        &["System.Collections.Concurrent.ConcurrentDictionary`2[[System.String],[Shop.Item]]"],
        &["System.Collections.Concurrent.ConcurrentDictionary`2+Node[[System.String],[Shop.Item]]"],
    ),
    (
        "",
        &["System.Collections.Generic.List`1[[System.Threading.Tasks.Task]]"],
        &[
            "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1[[System.Threading.Tasks.VoidTaskResult],[Shop.Worker+<Run>d__3]]",
        ],
    ),
];

fn dotnet(steps: &[&str], between: &[&str], count: u64) -> Vec<u8> {
    let types = [&["Shop.Program", "System.Object[]", "Shop.Item"], steps, between].concat();
    let mut text = String::from("a 2 Shop\n");
    types.iter().enumerate().for_each(|(id, name)| text += &format!("t {:x} {name}\n", id + 1));
    let number = |name: &str| types.iter().position(|known| *known == name).expect("a type") + 1;
    for (at, name) in steps.iter().enumerate() {
        text += &format!("o {:x} {:x} 20 {:x}\n", 0x1000 + at, number(name), 0x1001 + at);
    }
    let (array, width) = (0x1000 + steps.len(), between.len() + 1);
    text += &format!("o {array:x} 2 {:x}", 16 + 8 * count);
    let first = |at: u64| 0x10_0000 + at as usize * width;
    (0..count).for_each(|at| text += &format!(" {:x}", first(at)));
    text.push('\n');
    for at in 0..count {
        for (place, name) in between.iter().enumerate() {
            text += &format!("o {:x} {:x} 20 {:x}\n", first(at) + place, number(name), first(at) + place + 1);
        }
        text += &format!("o {:x} 3 120\n", first(at) + between.len());
    }
    text += "r 1000 4 0 1\nc Shop\n";
    text.into_bytes()
}

/// The type below a variable of the program that a list hangs on.
const SCRIPTS: [(&str, &str, &str); 9] = [
    ("python-lru-cache", "CPython 3.13.1", "functools._lru_cache_wrapper"),
    ("python-thread-local", "CPython 3.13.1", "_thread._localdummy"),
    ("python-queue", "CPython 3.13.1", "queue.Queue"),
    ("python-tasks", "CPython 3.13.1", "_asyncio.Task"),
    ("python-traceback", "CPython 3.13.1", "traceback"),
    ("python-log-handlers", "CPython 3.13.1", "logging.Logger"),
    ("python-finalizers", "CPython 3.13.1", "weakref.finalize._Info"),
    ("ruby-queue", "Ruby 3.4.1", "Thread::Queue (queue)"),
    ("ruby-thread-local", "Ruby 3.4.1", "Thread (VM/thread)"),
];

fn script(runtime: &str, holder: &str, count: u64) -> Vec<u8> {
    let mut text = format!("{{\"heapgraph\":1,\"runtime\":\"{runtime}\"}}\n");
    text += "{\"root\":1,\"kind\":\"static\",\"name\":\"app\"}\n";
    text += "{\"id\":1,\"type\":\"shop.App\",\"size\":40,\"refs\":[2],\"names\":[\"held\"]}\n";
    text += &format!("{{\"id\":2,\"type\":\"{holder}\",\"size\":40,\"refs\":[3],\"names\":[\"items\"]}}\n");
    let list = if runtime.starts_with("Ruby") { "Array" } else { "list" };
    let items: Vec<String> = (0..count).map(|at| (10 + at).to_string()).collect();
    text += &format!("{{\"id\":3,\"type\":\"{list}\",\"size\":{},\"refs\":[{}]}}\n", 8 * count, items.join(","));
    items.iter().for_each(|id| text += &format!("{{\"id\":{id},\"type\":\"shop.Item\",\"size\":340}}\n"));
    (text + &format!("{{\"end\":true,\"objects\":{}}}\n", count + 3)).into_bytes()
}

/// The answer for two dumps.
fn answer(folder: &Path, make: impl Fn(u64) -> Vec<u8>) -> Value {
    let files = ["old", "new"].map(|name| folder.join(name));
    for (file, count) in files.iter().zip(COUNTS) {
        std::fs::write(file, make(count)).expect("written");
    }
    let files = files.map(|file| file.display().to_string());
    run(&["leaks", "-q", "-f", "json", &files[0], &files[1]]).expect_code(0).json()
}

/// The one suspect of two dumps.
fn suspect(folder: &Path, make: impl Fn(u64) -> Vec<u8>) -> Value {
    let answer = answer(folder, make);
    let suspects = answer["suspects"].as_array().expect("suspects");
    assert_eq!(suspects.len(), 1, "{answer:#}");
    suspects[0].clone()
}

#[test]
fn every_shape_that_has_a_name_is_met() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut met = BTreeSet::new();
    let mut wrong = Vec::new();
    let mut check = |pattern: &str, element: &str, counts: [u64; 2], found: Value| {
        let is_right = found["pattern"] == *pattern || pattern.is_empty() && found["pattern"].is_null();
        let is_right = is_right
            && found["element"]["type"] == *element
            && found["element"]["objects_old"] == counts[0]
            && found["element"]["objects"] == counts[1];
        if !is_right {
            wrong.push(format!("{pattern}: {}, {}: {}", found["pattern"], found["element"], found["sentence"]));
        }
        met.insert(pattern.to_string());
    };
    for case in JAVA {
        check(case.0, case.3, COUNTS, suspect(folder.path(), |count| java(case, count)));
    }
    check("class-loaders", "shop.PluginLoader", [5, 35], suspect(folder.path(), loaders));
    check("cancelled-tasks", "shop.Task", COUNTS, suspect(folder.path(), cancelled));
    let of_netty = suspect(folder.path(), fast_thread_local);
    assert_eq!(of_netty["holder"]["text"], "the ThreadLocal Requests.CURRENT", "{of_netty:#}");
    check("thread-local", ITEM, COUNTS, of_netty);
    check("", "shop.QueueLambda$Order", COUNTS, suspect(folder.path(), queue));
    check("", "shop.Document", COUNTS, suspect(folder.path(), table));
    check("", ITEM, COUNTS, suspect(folder.path(), archives_to_clean_up));
    // One listener with a list, and a future that is complete: what they hang on is not what grew.
    let listener: Steps = &[("java.util.concurrent.CopyOnWriteArrayList", "array"), ("shop.Collector", "received")];
    let future: Steps = &[("java.util.concurrent.CompletableFuture", "result"), LIST];
    let weak: Steps = &[("java.util.WeakHashMap", "table"), ("shop.Collector", "received")];
    for steps in [listener, future, weak] {
        check("", ITEM, COUNTS, suspect(folder.path(), |count| java(("", APP, steps, ITEM), count)));
    }
    let buffers = suspect(folder.path(), direct_buffers);
    assert_eq!(buffers["off_heap_bytes"], COUNTS[1] << 20);
    check("direct-buffers", "java.nio.DirectByteBuffer", COUNTS, buffers);
    check("equal-keys", ITEM, COUNTS, suspect(folder.path(), |count| equal_keys(1, count)));
    check("", ITEM, [1000, 7000], suspect(folder.path(), |count| equal_keys(10, 10 * count)));
    // Of one activity and of seven; those that were destroyed are told of however small they are.
    check("android-activities", "shop.MainActivity", [0, 6], suspect(folder.path(), activities));
    for (pattern, steps) in NODE {
        check(pattern, "Order", COUNTS, suspect(folder.path(), |count| v8(steps, count)));
    }
    for (pattern, steps, between) in DOTNET {
        let found = suspect(folder.path(), |count| dotnet(steps, between, count));
        let holder = found["holder"]["text"].as_str().expect("words");
        assert!(holder.contains("static variable of Program"), "{found:#}");
        check(pattern, "Shop.Item", COUNTS, found);
    }
    for (pattern, runtime, holder) in SCRIPTS {
        check(pattern, "shop.Item", COUNTS, suspect(folder.path(), |count| script(runtime, holder, count)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let shapes = std::fs::read_to_string(project("src/answers/leaks/shapes.txt")).expect("shapes");
    let names = shapes.lines().filter(|line| !line.starts_with(['#', ' ']) && !line.is_empty());
    assert_eq!(names.filter(|name| !met.contains(*name)).collect::<Vec<_>>(), Vec::<&str>::new());
}

/// Several types in one place, a class without a name that is a map, texts that were put together.
#[test]
fn what_is_kept_has_its_words_and_is_counted_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let java = |count: u64| {
        let mut dump = JavaDump::new();
        let object = dump.class("java.lang.Object", 0, &[], &[]);
        let array = dump.class("[Ljava.lang.Object;", object, &[], &[]);
        let map = dump.class("java.util.HashMap", object, &[("table", Held::Reference(0))], &[]);
        let cache = dump.class("shop.App$1", map, &[], &[]);
        let types =
            ["shop.Login", "shop.Logout"].map(|name| dump.class(name, object, &[("data", Held::Reference(0))], &[]));
        let elements: Vec<u64> = (0..count).map(|number| 0x10_0000 + 0x200 * number).collect();
        for (at, &id) in elements.iter().enumerate() {
            dump.instance(id, types[at % 2], &[Held::Reference(id + 0x40)]);
            dump.primitives(id + 0x40, 8, 1, &[0; 300]);
        }
        dump.references(0x8000, array, &elements);
        dump.instance(0x7000, cache, &[Held::Reference(0x8000)]);
        dump.class("shop.App", object, &[], &[("held", Held::Reference(0x7000))]);
        dump.finish()
    };
    let found = suspect(folder.path(), java);
    let sentence = found["sentence"].as_str().expect("words");
    assert!(sentence.starts_with("350 Login and 350 Logout ("), "{sentence}");
    assert!(sentence.contains("are kept in static App.held (HashMap); 600 are new since OLD."), "{sentence}");
    let beside = json!([{"type": "shop.Logout", "objects": 350, "objects_old": 50}]);
    assert_eq!(found["element"]["beside"], beside);
    let texts = |count: u64| {
        let count = count as usize;
        let mut nodes: Vec<Node> = vec![
            node("synthetic", "", 0).edge("shortcut", "global", 1),
            node("object", "global", 40).edge("property", "app", 2),
            node("closure", "Store", 64).edge("property", "seen", 3),
        ];
        let array = node("array", "(object elements)", 16);
        nodes.push((0..count).fold(array, |array, at| array.edge("element", at, 4 + 3 * at)));
        for at in 0..count {
            let part = 4 + 3 * at;
            // Every second one was put together.
            nodes.push(match at % 2 {
                0 => node("string", format!("text {at}"), 300),
                _ => node("concatenated string", "", 300).edge("internal", "first", part + 1).edge(
                    "internal",
                    "second",
                    part + 2,
                ),
            });
            nodes.push(node("string", format!("a {at}"), 24));
            nodes.push(node("string", format!("b {at}"), 24));
        }
        v8_nodes(&nodes)
    };
    let found = suspect(folder.path(), texts);
    assert_eq!(found["element"]["objects"], COUNTS[1], "{found:#}");
    let sentence = found["sentence"].as_str().expect("words");
    assert!(sentence.starts_with("700 strings (") && sentence.contains("kept in static Store.seen"), "{sentence}");
}

/// Formats that have types and roots alone.
#[test]
fn types_and_roots_are_enough() {
    let heap = |count: u64| {
        let mut heap = Heap::default();
        let app = heap.object("shop/App", 16);
        let list = heap.object("java/util/ArrayList", 24);
        let array = heap.object("[Ljava/lang/Object;", 16 + 8 * count);
        heap.root(app);
        heap.refer(app, list);
        heap.refer(list, array);
        for _ in 0..count {
            let (item, text) = (heap.object("shop/Item", 24), heap.object("java/lang/String", 320));
            heap.refer(array, item);
            heap.refer(item, text);
        }
        heap
    };
    let folder = tempfile::tempdir().expect("a folder");
    let phd = |form: usize| suspect(folder.path(), |count| phd(&heap(count), FORMS[form]));
    let text = suspect(folder.path(), |count| ibm_classic(&heap(count), Shape::Native).into_bytes());
    for found in [phd(0), phd(1), phd(2), text] {
        assert_eq!(found["element"], json!({"type": "shop.Item", "objects": COUNTS[1], "objects_old": COUNTS[0]}));
        assert!(
            found["sentence"].as_str().is_some_and(|sentence| sentence.contains("600 are new since OLD")),
            "{found:#}"
        );
    }
}

/// Two collections, of texts and of what has texts too: each is a cause with its own figures.
#[test]
fn a_collection_is_told_beside_another_of_what_has_its_type_too() {
    let java = |count: u64| {
        let mut dump = JavaDump::new();
        let object = dump.class("java.lang.Object", 0, &[], &[]);
        let array = dump.class("[Ljava.lang.Object;", object, &[], &[]);
        let list = dump.class("java.util.ArrayList", object, &[("elementData", Held::Reference(0))], &[]);
        let text = dump.class("java.lang.String", object, &[("value", Held::Reference(0))], &[]);
        let session = dump.class("shop.Session", object, &[("name", Held::Reference(0))], &[]);
        let ids = |from: u64| (0..count).map(move |number| from + 0x200 * number);
        for id in ids(0x10_0000).chain(ids(0x20_0000)) {
            dump.instance(id, text, &[Held::Reference(id + 0x80)]);
            dump.primitives(id + 0x80, 8, 1, &[0; 300]);
        }
        ids(0x20_0000).for_each(|id| dump.instance(id + 0x40, session, &[Held::Reference(id)]));
        for (at, elements) in [ids(0x10_0000).collect::<Vec<_>>(), ids(0x20_0040).collect()].into_iter().enumerate() {
            let id = 0x8000 + 0x100 * at as u64;
            dump.instance(id, list, &[Held::Reference(id + 0x40)]);
            dump.references(id + 0x40, array, &elements);
        }
        let fields = [("lines", Held::Reference(0x8000)), ("sessions", Held::Reference(0x8100))];
        dump.class("shop.App", object, &[], &fields);
        dump.finish()
    };
    let graph = |count: u64| {
        let (first, sessions) = (100, 100 + count);
        let ids = |from: u64| (from..from + count).map(|id| id.to_string()).collect::<Vec<_>>().join(",");
        let mut text = String::from("{\"heapgraph\":1,\"runtime\":\"Ruby 3.4.1\"}\n");
        text += "{\"root\":1,\"kind\":\"static\",\"name\":\"app\"}\n";
        text += "{\"id\":1,\"type\":\"App\",\"size\":40,\"refs\":[2,3]}\n";
        text += &format!("{{\"id\":2,\"type\":\"Hash\",\"size\":40,\"refs\":[{}]}}\n", ids(first));
        text += &format!("{{\"id\":3,\"type\":\"Hash\",\"size\":40,\"refs\":[{}]}}\n", ids(sessions));
        (first..sessions).for_each(|id| text += &format!("{{\"id\":{id},\"type\":\"String\",\"size\":320}}\n"));
        for id in sessions..sessions + count {
            let own = id + count;
            text += &format!("{{\"id\":{id},\"type\":\"Session\",\"size\":40,\"refs\":[{own}]}}\n");
            text += &format!("{{\"id\":{own},\"type\":\"String\",\"size\":320}}\n");
        }
        (text + &format!("{{\"end\":true,\"objects\":{}}}\n", 3 + 3 * count)).into_bytes()
    };
    let folder = tempfile::tempdir().expect("a folder");
    for make in [&java as &dyn Fn(u64) -> Vec<u8>, &graph] {
        let answer = answer(folder.path(), make);
        let suspects = answer["suspects"].as_array().expect("suspects");
        let mut elements: Vec<&str> = suspects.iter().filter_map(|row| row["element"]["type"].as_str()).collect();
        elements.sort_unstable_by_key(|name| name.rsplit('.').next().map(str::to_string));
        assert_eq!(elements.len(), 2, "{answer:#}");
        assert!(elements[0].ends_with("Session") && elements[1].ends_with("String"), "{elements:?}");
        for row in suspects {
            assert_eq!((&row["element"]["objects_old"], &row["element"]["objects"]), (&100.into(), &700.into()));
        }
    }
}

/// Properties of a plain object that are keys, few of them or more in the newer dump; lists of plain objects.
#[test]
fn maps_and_lists_of_plain_objects_are_one_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = || -> Vec<Node> {
        vec![
            node("synthetic", "", 0).edge("shortcut", "global", 1),
            node("object", "global", 40).edge("property", "app", 2),
            node("object", "App", 40).edge("property", "kept", 3),
        ]
    };
    let push_order = |nodes: &mut Vec<Node>| {
        let at = nodes.len();
        nodes.push(node("object", "Order", 40).edge("property", "text", at + 1));
        nodes.push(node("string", format!("text {at}"), 300));
    };
    let map =
        |keys: fn(usize) -> usize| {
            move |count: u64| {
                let (count, mut nodes) = (count as usize, start());
                let (keys, orders) = (keys(count), 4 + keys(count));
                nodes.push((0..keys).fold(node("object", "Object", 40), |map, key| {
                    map.edge("property", format!("key {key}"), 4 + key)
                }));
                for key in 0..keys {
                    let of_key = (key..count).step_by(keys);
                    nodes.push(of_key.fold(node("object", "Array", 16), |array, at| {
                        array.edge("element", at / keys, orders + 2 * at)
                    }));
                }
                (0..count).for_each(|_| push_order(&mut nodes));
                v8_nodes(&nodes)
            }
        };
    let list = |count: u64| {
        let (count, mut nodes) = (count as usize, start());
        for at in 0..count {
            let one = node("object", "Object", 40).edge("property", "order", 4 + 3 * at);
            nodes.push(if at + 1 < count { one.edge("property", "next", 6 + 3 * at) } else { one });
            push_order(&mut nodes);
        }
        v8_nodes(&nodes)
    };
    // Half of it is nearer its end.
    let list_with_ends = |count: u64| {
        let (count, mut nodes) = (count as usize, start());
        let ends = node("object", "Object", 40).edge("property", "head", 4);
        nodes.push(ends.edge("property", "tail", 4 + 3 * (count - 1)));
        for at in 0..count {
            let one = node("object", "Object", 40).edge("property", "order", 5 + 3 * at);
            let one = if at + 1 < count { one.edge("property", "next", 7 + 3 * at) } else { one };
            nodes.push(if at > 0 { one.edge("property", "prev", 1 + 3 * at) } else { one });
            push_order(&mut nodes);
        }
        v8_nodes(&nodes)
    };
    for found in [
        suspect(folder.path(), list_with_ends),
        suspect(folder.path(), map(|_| 12)),
        suspect(folder.path(), map(|count| if count < 200 { 40 } else { 60 })),
        suspect(folder.path(), list),
    ] {
        let sentence = found["sentence"].as_str().expect("words");
        let [old, new] = ["objects_old", "objects"].map(|key| found["element"][key].as_u64().expect("a number"));
        assert!(sentence.contains("App.kept"), "{sentence}");
        assert!(!sentence.contains("key ") && COUNTS[1] - new <= 1 && COUNTS[0] - old <= 1, "{sentence}");
    }
}
