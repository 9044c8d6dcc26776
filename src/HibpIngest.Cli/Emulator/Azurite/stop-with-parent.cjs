// Loaded before Azurite (node --require). Standard input is a pipe from the parent process. When the parent
// ends for any reason, the pipe closes, and the emulator saves and stops.
process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.resume();
// Ctrl+C in a terminal reaches the whole process group. SIGINT is ignored, because the parent needs the
// emulator during its shutdown.
process.on('SIGINT', () => {});
process.on('newListener', (event, listener) => {
  if (event === 'SIGINT') process.nextTick(() => process.removeListener('SIGINT', listener));
});
