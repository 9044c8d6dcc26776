// Replaces the figures of the status page by those that the server sends. Without this script the page shows those of its request.
const figures = document.getElementById("figures");
const state = document.getElementById("live");
const events = new EventSource("/status/events");
events.onmessage = event => {
  figures.innerHTML = event.data;
  state.textContent = state.dataset.live;
};
events.onerror = () => state.textContent = state.dataset.lost;
