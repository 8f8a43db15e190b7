// Leaks what a library holds, in the way that is asked for: 1,000 times, then 3,000 times more, with a snapshot after each:
// node --expose-gc libraries.js WAY OLD NEW
'use strict';
const v8 = require('v8');
const { Mutex } = require('async-mutex');
const DataLoader = require('dataloader');
const EventEmitter3 = require('eventemitter3');
const session = require('express-session');
const lodash = require('lodash');
const mobx = require('mobx');
const { default: PQueue } = require('p-queue');
const { Subject, interval, switchMap } = require('rxjs');

class Order {
  constructor(id) {
    this.id = id;
    this.customer = 'customer number ' + id;
    this.lines = [id, id + 1, id + 2, id + 3];
  }
}

const ticks = new Subject();
const bus = new EventEmitter3();
const mutex = new Mutex();
const jobs = new PQueue({ concurrency: 1 });
const store = new session.MemoryStore();
const orders = new DataLoader(async (ids) => ids.map((id) => new Order(id)));
const priceOf = lodash.memoize((id) => new Order(id));
const settings = mobx.observable({ currency: 'EUR' });

const ways = {
  'rxjs-subject': (number) => {
    const order = new Order(number);
    ticks.subscribe(() => order.id++);
  },
  'rxjs-interval': (number) => {
    const order = new Order(number);
    interval(1e8).pipe(switchMap(() => [order])).subscribe(() => order.id++);
  },
  eventemitter3: (number) => {
    const order = new Order(number);
    bus.on('paid', () => order.id++);
  },
  mutex: (number) => {
    const order = new Order(number);
    mutex.acquire().then(() => order.id++);
  },
  'p-queue': (number) => {
    const order = new Order(number);
    jobs.add(() => new Promise(() => order.id++));
  },
  'express-session': (number) => store.set('session-' + number, { cookie: {}, cart: ['a' + number] }),
  dataloader: (number) => orders.load(number),
  bounded: (number) => {
    const order = new Order(number);
    ticks.subscribe(() => order.id++).unsubscribe();
    const paid = () => order.id++;
    bus.on('paid', paid).off('paid', paid);
    store.set('session-' + number, { cookie: {}, cart: ['a' + number] });
    if (number >= 500) store.destroy('session-' + (number - 500));
    mobx.autorun(() => (order.currency = settings.currency))();
  },
  lodash: (number) => priceOf(number),
  mobx: (number) => {
    const order = new Order(number);
    mobx.autorun(() => (order.currency = settings.currency));
  },
};

const settled = () => new Promise((resolve) => setTimeout(resolve, 100));

(async () => {
  const [way, old, last] = process.argv.slice(2);
  for (let number = 0; number < 1000; number++) ways[way](number);
  await settled();
  global.gc();
  v8.writeHeapSnapshot(old);
  for (let number = 1000; number < 4000; number++) ways[way](number);
  await settled();
  global.gc();
  v8.writeHeapSnapshot(last);
  process.exit(0);
})();
