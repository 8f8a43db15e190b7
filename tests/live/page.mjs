// Looks at a page of `heapdump report` in a real browser: node page.mjs CHROMIUM PAGE.html
// Prints one line a check, "ok NAME" or "FAIL NAME: what was seen"; ends with 1 if any failed.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createRequire } from 'node:module';

const require = createRequire(resolve('target/live/package.json'));
const { chromium } = require('playwright-core');
const [program, file] = process.argv.slice(2);
const url = 'file://' + resolve(file);
const source = readFileSync(file, 'utf8');
let failed = false;
function check(name, isTrue, seen = '') {
  failed = failed || !isTrue;
  console.log(isTrue ? `ok ${name}` : `FAIL ${name}: ${typeof seen === 'string' ? seen : JSON.stringify(seen)}`);
}

const flags = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const browser = await chromium.launch({ executablePath: program, args: flags });
/** A page in a fresh context; `seen` lists requests, console errors, policy reports, page errors, dialogs. */
async function open(options = {}, hash = '', target = url) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, offline: true, ...options });
  const page = await context.newPage();
  page.seen = [];
  page.on('console', (message) => message.type() === 'error' && page.seen.push(message.text()));
  page.on('pageerror', (error) => page.seen.push(error.message));
  page.on('request', (request) => request.url().split('#')[0] === target || page.seen.push('request of ' + request.url()));
  page.on('dialog', (dialog) => {
    page.seen.push('dialog');
    dialog.dismiss();
  });
  await page.goto(target + hash);
  if (options.javaScriptEnabled !== false && target === url) {
    await page.waitForFunction(() => performance.getEntriesByName('ready').length);
    await settle(page, 30);
  }
  return page;
}
// The page waits by its own clock: what it put off for less is done before, however busy the machine is.
const settle = (page, ms = 130) => page.evaluate((ms) => new Promise((done) => setTimeout(() => requestAnimationFrame(() => setTimeout(done)), ms)), ms);
const hashOf = (page) => page.evaluate(() => location.hash);
const focusOf = (page) => page.evaluate(() => document.activeElement.tagName);
const sideways = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

check('1.5 MB at most', Buffer.byteLength(source) <= 1_500_000, String(Buffer.byteLength(source)));
const page = await open();
check('no request, no error, no policy report', page.seen.length === 0, page.seen);
const data = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent));
const has = (id) => page.locator('#' + id).count().then(Boolean);
const hasObjects = Boolean(data.objects);

// Names of a dump are text and nothing else.
const inert = await page.evaluate(() => ({
  images: document.images.length,
  scripts: document.scripts.length,
  handlers: [...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name))).length,
  styles: document.querySelectorAll('[style]').length && [...document.querySelectorAll('main [style]')].filter((e) => !e.closest('#boxes, #objects')).length,
  links: [...document.links].filter((a) => !a.getAttribute('href').startsWith('#')).length,
  loads: document.querySelectorAll('[src], link[href], iframe, object, embed').length,
}));
check('nothing but text came from the dump', inert.images === 0 && inert.scripts === 2 && inert.handlers === 0 && inert.links === 0 && inert.loads === 0, inert);
check('title as written', (await page.title()).length > 0 && !/PWNED/.test(await page.title()), await page.title());

// The policy holds where markup comes in all the same.
const injected = await open();
const title = await injected.title();
await injected.evaluate(() => {
  document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="document.title=\'PWNED\'"><a id=evil href="javascript:document.title=\'PWNED\'">x</a><p style="color:red">');
});
await injected.click('#evil').catch(() => {});
await settle(injected);
check('the policy blocks what is injected', injected.seen.length >= 2 && (await injected.title()) === title, injected.seen);

// Types: sort, filter, address.
if ((await has('types')) && data.names.length) {
  const input = '#types input[type=search]';
  await page.fill(input, data.names[data.types.name[0]].slice(0, 4));
  await settle(page);
  const counted = await page.textContent('#types .counter');
  await page.focus('#types th:nth-child(3) button');
  await page.keyboard.press('Enter');
  await settle(page);
  const hash = await hashOf(page);
  check('focus stays after a sort', (await focusOf(page)) === 'BUTTON', await focusOf(page));
  const again = await open({}, hash);
  check('an address brings filter and order back', (await again.textContent('#types .counter')) === counted && (await again.getAttribute('#types th:nth-child(3)', 'aria-sort')) === 'descending', hash);
  const rows = await page.evaluate(() => document.querySelectorAll('#types tbody tr').length);
  check('the filter leaves rows', rows > 0, String(rows));
  await page.fill(input, '');
  await settle(page);
  while (await page.isVisible('#types .more')) {
    await page.focus('#types .more');
    await page.keyboard.press('Enter');
  }
  check('focus stays when all rows are shown', (await focusOf(page)) !== 'BODY', await focusOf(page));
}

// The map by keyboard alone.
if (await has('boxes')) {
  const map = await open();
  await map.focus('#boxes .box[tabindex="0"]');
  await map.keyboard.press('Home');
  await map.keyboard.press('ArrowDown');
  await map.keyboard.press('Enter');
  await map.keyboard.press('ArrowDown');
  await map.keyboard.press('Enter');
  const hash = await hashOf(map);
  const hasRows = data.maps[0].name.some((name) => name >= 0);
  const focused = await map.evaluate(() => document.activeElement.getAttribute('aria-label'));
  check('map: arrows and Enter zoom, in the address', !hasRows || /^#map\?.*at=\d/.test(hash), hash);
  check('map: focus stays in it', Boolean(focused), String(focused));
  const again = await open({}, hash);
  check('map: an address brings the view back', (await again.textContent('#map-crumbs')) === (await map.textContent('#map-crumbs')), hash);
  await map.keyboard.press('Escape');
  await map.keyboard.press('Escape');
  check('map: Escape goes up', !(await hashOf(map)).includes('at='), await hashOf(map));
  const boxes = await map.evaluate(() => {
    const ruler = document.createElement('canvas').getContext('2d');
    ruler.font = '12.5px ' + getComputedStyle(document.body).fontFamily;
    const all = [...document.querySelectorAll('#boxes .box[aria-label]')];
    const room = (box) => box.clientWidth - 32;
    const name = (box) => box.getAttribute('aria-label').split(', ')[0];
    return {
      labelled: all.filter((box) => box.textContent.trim()).length,
      bare: all.filter((box) => box.clientWidth > 60 && !box.textContent.trim() && ruler.measureText(name(box) + ' ×1,000 deep').width <= room(box)).map(name),
      cut: all.filter((box) => box.textContent.trim() && box.scrollWidth > box.clientWidth + 1).map(name),
    };
  });
  check('map: boxes have labels where names fit', boxes.labelled > 0 && !boxes.bare.length, JSON.stringify(boxes));
  check('map: labels are whole', !boxes.cut.length, JSON.stringify(boxes.cut));
  await map.fill('#map-find', (data.names[0] || 'x').slice(0, 3));
  await settle(map);
  const found = await map.textContent('#map-found');
  const percent = Number((found.match(/([\d.]+) %/) || [0, '0'])[1]);
  check('map: what is found is 100 % at most', percent <= 100, found);
  check('map: one stop for Tab', (await map.locator('#boxes .box[tabindex="0"]').count()) === 1);
}

// The command of a zoomed map, for the test to run: zoomed BYTES COMMAND.
if (hasObjects) {
  const [row, id] = Object.entries(data.maps[0].ids).find(([row]) => data.maps[0].parent.includes(Number(row))) || [];
  if (id !== undefined) {
    const parent = data.maps[0].parent;
    const way = [];
    for (let node = Number(row); node > 0; node = parent[node]) way.unshift(parent.slice(0, node).filter((other) => other === parent[node]).length);
    const zoomed = await open({}, '#map?at=' + way.join('.'));
    const command = await zoomed.textContent('#map-zoomed code');
    check('map: the command of what is zoomed', command.startsWith('heapdump breakdown ') && command.includes(id), command);
    check('map: one command at a time', (await zoomed.locator('#map .command:visible').count()) === 1);
    console.log(`zoomed ${data.maps[0].bytes[row]} ${command}`);
    await zoomed.click('#map-crumbs button');
    check('map: the command of the whole comes back', !(await zoomed.isVisible('#map-zoomed code')));
  }
  // Boxes that are too narrow have a way to them.
  const narrow = await open({}, '#map');
  if (await narrow.locator('#boxes .narrow[data-from]').count()) {
    const before = await narrow.locator('#boxes .box[data-node]').count();
    await narrow.locator('#boxes .narrow[data-from]').last().click();
    const hash = await hashOf(narrow);
    check('map: a click shows the smaller boxes', /from=\d/.test(hash) && (await narrow.locator('#boxes .box[data-node]').count()) > 1, `${hash} ${before}`);
    const again = await open({}, hash);
    const texts = (page) => page.locator('#boxes').textContent();
    check('map: an address brings the smaller boxes back', (await texts(again)) === (await texts(narrow)), hash);
  }
}

// Objects by keyboard.
if (hasObjects && (await page.locator('#objects .toggle:not([disabled])').count())) {
  const objects = await open();
  const rows = () => objects.locator('#objects tbody tr').count();
  await objects.focus('#objects .toggle:not([disabled])');
  const before = await rows();
  await objects.keyboard.press('ArrowRight');
  check('objects: the right arrow opens a row', (await rows()) > before);
  await objects.keyboard.press('ArrowLeft');
  check('objects: the left arrow closes it', (await rows()) === before && (await focusOf(objects)) === 'BUTTON');
  await objects.focus('#objects button.why');
  await objects.keyboard.press('Enter');
  check('objects: why opens the path', (await objects.locator('#objects .why-row').count()) === 1);
  const hash = await hashOf(objects);
  const again = await open({}, hash);
  check('objects: an address brings the path back', (await again.locator('#objects .why-row').count()) === 1, hash);
}

// Sums, to the byte.
const sums = await page.evaluate(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const wrong = [];
  for (const map of data.maps || []) {
    const below = new Array(map.name.length).fill(0);
    for (let node = 1; node < map.name.length; node += 1) below[map.parent[node]] += map.bytes[node];
    below.forEach((bytes, node) => bytes > map.bytes[node] && wrong.push('map ' + node));
  }
  const of = data.objects;
  if (of) {
    const below = new Map();
    of.id.forEach((_, row) => below.set(of.parent[row], (below.get(of.parent[row]) || 0) + of.retained[row]));
    for (const [row, bytes] of below) {
      const whole = row < 0 ? data.reachable_bytes : of.retained[row] - of.shallow[row];
      if (bytes !== whole) wrong.push(`objects ${row}: ${bytes} of ${whole}`);
    }
  }
  return wrong;
});
check('sums are exact', sums.length === 0, sums.slice(0, 3));

// Shapes of the window.
for (const [name, viewport, deviceScaleFactor] of [['200 %', { width: 700, height: 450 }, 2], ['320 px', { width: 320, height: 600 }, 1], ['800 px', { width: 800, height: 600 }, 1]]) {
  const small = await open({ viewport, deviceScaleFactor });
  check(`${name}: no sideways scroll`, (await sideways(small)) <= 0, String(await sideways(small)));
}

// Without a script every section is a table with rows, and nothing is dead.
const plain = await open({ javaScriptEnabled: false });
const tables = await plain.locator('table').count();
const empty = await plain.locator('table:not(:has(tbody tr))').count();
check('no script: tables with rows', tables > 0 && empty === 0, `${tables} tables, ${empty} without rows`);
check('no script: no dead controls', (await plain.locator('button:visible, input:visible, select:visible').count()) === 0);

// Contrast of all text, in the four ways a page can be coloured.
for (const scheme of ['light', 'dark']) {
  const coloured = await open({ colorScheme: scheme });
  const low = await coloured.evaluate(() => {
    const parse = (text) => text.match(/[\d.]+/g).map(Number);
    const luminance = (text) => {
      const [r, g, b] = parse(text).map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const backOf = (e) => {
      for (let at = e; at; at = at.parentElement) {
        const colour = getComputedStyle(at).backgroundColor;
        if ((parse(colour)[3] ?? 1) > 0) return luminance(colour);
      }
      return 1;
    };
    const bad = {};
    const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    for (const e of document.querySelectorAll('body *')) {
      const isText = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
      if (!isText || !e.offsetParent || e.closest('.finding')) continue;
      const value = ratio(luminance(getComputedStyle(e).color), backOf(e));
      if (value < 4.5) bad[e.tagName + '.' + e.className] = value.toFixed(1);
    }
    for (const text of document.querySelectorAll('svg.split text')) {
      const rect = text.previousElementSibling;
      const back = getComputedStyle(rect).fill;
      if (!back.startsWith('rgb')) continue;
      const value = ratio(luminance(getComputedStyle(text).fill), luminance(back));
      if (value < 4.5) bad['text of the bar ' + rect.getAttribute('class')] = value.toFixed(1);
    }
    return bad;
  });
  check(`contrast of text, ${scheme}`, Object.keys(low).length === 0, low);
}

// In a sandboxed frame, and on paper.
const framed = await open({}, '', 'about:blank');
await framed.setContent('<iframe sandbox="allow-scripts" width="900" height="600"></iframe>');
await framed.evaluate((text) => (document.querySelector('iframe').srcdoc = text), source);
await framed.waitForFunction(() => frames.length);
const inner = framed.frames()[1];
await inner.waitForFunction(() => performance.getEntriesByName('ready').length);
check('works in a sandboxed frame', framed.seen.length === 0 && (await inner.evaluate(() => document.documentElement.classList.contains('js'))), framed.seen);
const paper = await open();
check('prints', (await paper.pdf({ format: 'A4' })).length > 10_000);

await browser.close();
process.exit(failed ? 1 : 0);
