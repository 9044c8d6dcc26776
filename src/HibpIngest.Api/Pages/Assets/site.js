// The search of a page: hashes what was typed, asks for everything that shares the hash's first characters, and looks for the rest
// on this device. A hit makes the same requests as a miss.
'use strict';
(() => {
  const ticket = document.querySelector('meta[name="ticket"]').content;
  let catalogue;

  function copy(id, ...values) {
    const content = document.getElementById(id).content.cloneNode(true);
    values.forEach((value, i) => {
      for (const element of content.querySelectorAll('p, h2')) {
        element.textContent = element.textContent.replace(`{${i}}`, value);
      }
    });
    return content;
  }

  async function hashOf(text) {
    const bytes = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('').toUpperCase();
  }

  async function ask(address) {
    const response = await fetch(address, { headers: { 'x-page-ticket': ticket }, credentials: 'omit' });
    if (!response.ok) {
      throw Object.assign(new Error('refused'), { status: response.status });
    }
    return response;
  }

  async function rowOf(kind, digits, hash) {
    const rows = (await (await ask(`/search/${kind}/${hash.slice(0, digits)}`)).text()).split('\n');
    const row = rows.find((one) => one.startsWith(`${hash.slice(digits)}:`));
    return row?.slice(row.indexOf(':') + 1).trim();
  }

  function breachItem(breach) {
    const item = copy('t-breach');
    const fill = (selector, texts) => item.querySelector(selector).replaceChildren(...texts.map((number) => {
      const line = document.createElement('li');
      line.textContent = catalogue.texts[number].replaceAll('{title}', breach.title);
      return line;
    }));
    item.querySelector('.badge').textContent = breach.initials;
    item.querySelector('a').href = `/breach/${encodeURIComponent(breach.name)}`;
    item.querySelector('bdi').textContent = breach.title;
    item.querySelector('[data-date]').textContent = breach.date;
    item.querySelector('[data-exposed]').textContent = breach.exposed.map((number) => catalogue.texts[number]).join(', ');
    if (breach.exposed.length === 0) {
      item.querySelector('.exposed').remove();
    }
    fill('[data-notes]', breach.notes);
    fill('[data-steps]', breach.steps);
    return item;
  }

  async function searchEmail(form, text) {
    const email = text.trim().toLowerCase();
    if (!/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email)) {
      return copy('t-invalid');
    }
    catalogue ??= await (await ask('/search/catalogue.json')).json();
    const row = await rowOf('range', Number(form.dataset.digits), await hashOf(email));
    const names = row ? row.split(',') : [];
    const found = catalogue.breaches.filter((breach) => names.includes(breach.name));
    if (found.length === 0) {
      return copy('t-miss');
    }
    const hit = copy('t-hit');
    hit.querySelector('h2').textContent = document.getElementById(found.length === 1 ? 't-count-one' : 't-count-many')
      .content.textContent.replace('{0}', found.length);
    hit.querySelector('.breaches').replaceChildren(...found.map(breachItem));
    return hit;
  }

  async function searchPassword(form, text) {
    const row = await rowOf('password', Number(form.dataset.digits), await hashOf(text));
    return Number(row ?? 0) > 0 ? copy('t-seen', Number(row).toLocaleString()) : copy('t-unseen');
  }

  function failure(error) {
    return copy(error.status === 429 ? 't-limit' : error.status === 403 ? 't-ticket' : 't-failed');
  }

  for (const form of document.querySelectorAll('form[data-search]')) {
    const [input, button, result] = ['input', 'button', '.result'].map((selector) => form.querySelector(selector));
    if (!window.isSecureContext) {
      document.querySelector('[data-insecure]').hidden = false;
      continue;
    }
    input.disabled = button.disabled = false;
    form.noValidate = true;
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      button.disabled = true;
      result.replaceChildren(copy('t-busy'));
      try {
        result.replaceChildren(await (form.dataset.search === 'range' ? searchEmail : searchPassword)(form, input.value));
      } catch (error) {
        result.replaceChildren(failure(error));
      } finally {
        button.disabled = false;
      }
    });
  }
})();
