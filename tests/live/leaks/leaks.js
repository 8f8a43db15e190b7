// Leaks in the way that is asked for: 2,000 times, then 6,000 times more, with a snapshot after each:
// node --expose-gc leaks.js WAY OLD NEW
'use strict';
const fs = require('fs');
const v8 = require('v8');
const EventEmitter = require('events');
const { AsyncLocalStorage } = require('async_hooks');

class Item {
  constructor(id) {
    this.id = id;
    this.name = 'item number ' + id;
    this.list = [id, id + 1, id + 2];
  }
}

class Client {
  constructor(id) {
    this.id = id;
    this.buffer = Buffer.alloc(64);
    this.tags = ['a' + id];
  }
}

class Store {
  constructor() {
    this.byId = new Map();
  }
  add(item) {
    this.byId.set('k' + item.id, item);
  }
}

const store = new Store();
const bus = new EventEmitter();
const cache = {};
const rows = [];
const hooks = [];
const pending = [];
const recent = new Map();
const stop = new AbortController();
const requests = new AsyncLocalStorage();
bus.setMaxListeners(0);
EventEmitter.setMaxListeners(0, stop.signal);
// Healthy, and larger than what leaks at first.
const templates = new Map();
for (let number = 0; number < 4000; number++) templates.set(number, 'a template of some length, number ' + number);

const ways = {
  map: (number) => store.add(new Item(number)),
  dictionary: (number) => (cache['key' + number] = new Item(number)),
  plain: (number) => rows.push({ when: number, method: 'GET', url: '/a/' + number }),
  nested: (number) => rows.push({ method: 'GET', url: '/a/' + number, from: { host: 'h' + number, at: { port: number } } }),
  interval: (number) => {
    const client = new Client(number);
    setInterval(() => client.id++, 1e8).unref();
  },
  listener: (number) => {
    const client = new Client(number);
    bus.on('tick', () => client.id++);
  },
  abort: (number) => {
    const client = new Client(number);
    stop.signal.addEventListener('abort', () => client.id++);
  },
  promise: (number) => {
    const client = new Client(number);
    (async () => {
      await new Promise(() => pending.push(client));
    })();
  },
  closure: (number) => {
    const client = new Client(number);
    hooks.push(function onExit() {
      return client;
    });
  },
  storage: (number) => requests.run({ client: new Client(number) }, () => setTimeout(() => {}, 1e8).unref()),
  global: (number) => (globalThis.sessions ??= []).push(new Item(number)),
  // Loaded anew each time; the caller has them all as children.
  module: (number) => {
    const file = process.cwd() + '/plugin.js';
    if (number === 0) fs.writeFileSync(file, 'exports.items = [];');
    delete require.cache[file];
    rows.push(require(file));
  },
  bounded: (number) => {
    recent.set(number, new Item(number));
    if (recent.size > 1000) recent.delete(recent.keys().next().value);
  },
};

const settled = () => new Promise((resolve) => setTimeout(resolve, 50));

(async () => {
  const [way, old, last] = process.argv.slice(2);
  for (let number = 0; number < 2000; number++) ways[way](number);
  await settled();
  global.gc();
  v8.writeHeapSnapshot(old);
  for (let number = 2000; number < 8000; number++) ways[way](number);
  await settled();
  global.gc();
  v8.writeHeapSnapshot(last);
  // They are all in use to the end.
  if (store.byId.size + templates.size + rows.length + hooks.length === -1) console.log(cache, recent);
  process.exit(0);
})();
