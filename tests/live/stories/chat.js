'use strict';
// A chat server: every visitor listens to the room and nobody is taken out again.
const { EventEmitter } = require('node:events');
const v8 = require('node:v8');

class Visitor {
  constructor(number) {
    this.name = `visitor ${number}`;
    this.history = [];
  }
}

const room = new EventEmitter();
room.setMaxListeners(0);
const names = new Map();
for (let i = 0; i < 40; i++) names.set(`room ${i}`, { topic: `topic ${i}`, open: true });

function join(number) {
  const visitor = new Visitor(number);
  // The leak: what leaves is never taken from the room's listeners.
  room.on('message', function onMessage(text) { visitor.history.push(text); });
}

exports.room = room;
exports.names = names;

let count = 0;
function dump(goal, file) {
  while (count < goal) {
    join(++count);
    if (count % 50 === 0) room.emit('message', `hello, now we are ${count}`);
  }
  global.gc();
  v8.writeHeapSnapshot(`${file}.heapsnapshot`);
}
setTimeout(dump, 10, 100, 'old');
setTimeout(dump, 2000, 700, 'new');
