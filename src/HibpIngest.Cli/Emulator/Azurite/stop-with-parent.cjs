// Loaded before Azurite (node --require). Standard input is a pipe from the program that started it: when that program
// ends, however it ends, the pipe closes, and the emulator saves and stops.
process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.resume();
// Ctrl+C in a terminal reaches the whole process group. The parent still needs the emulator while it winds up.
process.on('SIGINT', () => {});
process.on('newListener', (event, listener) => {
  if (event === 'SIGINT') process.nextTick(() => process.removeListener('SIGINT', listener));
});
