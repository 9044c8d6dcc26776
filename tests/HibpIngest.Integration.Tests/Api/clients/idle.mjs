// Opens connections to a port of this machine and keeps them, saying nothing on them, until its standard input ends. Prints how
// many there are once no more can be had.
// usage: node idle.mjs PORT COUNT
import { connect } from 'node:net';

const [port, count] = process.argv.slice(2).map(Number);
const atOnce = 100;
const sockets = [];
let failed = '';

function open() {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => { sockets.push(socket); resolve(); });
    socket.on('error', error => { failed ||= error.code; resolve(); });
    socket.resume();
  });
}

while (sockets.length < count && !failed)
  await Promise.all(Array.from({ length: Math.min(atOnce, count - sockets.length) }, open));
console.log(`${sockets.length} ${failed}`);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
