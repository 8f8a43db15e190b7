// The page of `heapdump report`: takes over the tables that stand in it without a script.
// Text from a dump goes in by textContent alone; the page's policy allows no inline styles and loads nothing.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.documentElement;
  const find = (selector, inside) => (inside || document).querySelector(selector);
  const findAll = (selector, inside) => [...(inside || document).querySelectorAll(selector)];
  root.classList.add('js');

  // ---- words ----

  const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  function size(bytes) {
    if (bytes == null) return '-';
    let value = Math.abs(bytes);
    let unit = 0;
    while (value >= 1024 && unit < UNITS.length - 1) {
      value /= 1024;
      unit += 1;
    }
    return (bytes < 0 ? '-' : '') + (unit ? value.toFixed(1) : value) + ' ' + UNITS[unit];
  }
  const count = (number) => (number == null ? '-' : number.toLocaleString('en-US'));
  const signed = (format) => (number) => (number > 0 ? '+' : '') + format(number);
  const share = (part, whole) => (whole ? ((100 * part) / whole).toFixed(1) + ' %' : '-');

  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function button(className, text, action) {
    const made = element('button', className, text);
    made.type = 'button';
    made.addEventListener('click', action);
    return made;
  }

  const nameOf = (number) => data.names[number];
  /** Where the class name begins behind its namespace. */
  function classStart(name) {
    const end = name.search(/[\[<`(]/);
    return name.lastIndexOf('.', end < 0 ? name.length : end - 1) + 1;
  }
  /** Letters of the namespace, and the class: without namespaces and assemblies of its arguments. */
  const partsOf = (number) => data.classes[number] ?? [classStart(nameOf(number)), nameOf(number).slice(classStart(nameOf(number)))];
  const brief = (number) => partsOf(number)[1].replace(/`\d+/g, '');
  const SURELY_SHOWN = 100;
  const LONG_NAMESPACE = 80;
  /** A very long namespace loses its first segments: what a name is of is the class. */
  function briefNamespace(namespace) {
    if (namespace.length <= LONG_NAMESPACE) return namespace;
    const start = namespace.indexOf('.', namespace.length - LONG_NAMESPACE) + 1;
    return start < namespace.length ? '…' + namespace.slice(start) : '…';
  }
  /** A type's name: the namespace dimmed, the full name in its title. */
  function typeName(number, inFull) {
    const name = nameOf(number);
    const [start, className] = partsOf(number);
    const namespace = inFull ? name.slice(0, start) : briefNamespace(name.slice(0, start));
    const shown = inFull ? name.slice(start) : className;
    const made = element('span', 'type');
    if (name.length > SURELY_SHOWN || namespace + shown !== name) made.title = name;
    if (start) made.append(element('span', 'namespace', namespace), element('wbr'));
    made.append(shown);
    return made;
  }
  const SHAPE = 'http://www.w3.org/2000/svg';
  function bar(value, largest) {
    const svg = document.createElementNS(SHAPE, 'svg');
    svg.setAttribute('class', 'bar');
    svg.setAttribute('viewBox', '0 0 100 1');
    svg.setAttribute('preserveAspectRatio', 'none');
    svg.setAttribute('aria-hidden', 'true');
    const rect = document.createElementNS(SHAPE, 'rect');
    rect.setAttribute('width', Math.min(100, (100 * Math.abs(value || 0)) / (largest || 1)));
    rect.setAttribute('height', 1);
    if (value < 0) rect.setAttribute('class', 'less');
    svg.append(rect);
    return svg;
  }
  const announce = (text) => {
    find('#announce').textContent = text;
  };

  // ---- copying ----

  function copy(text, from) {
    const done = () => {
      const before = from.dataset.text || from.textContent;
      from.dataset.text = before;
      from.textContent = 'Copied';
      announce('Copied');
      setTimeout(() => (from.textContent = before), 1200);
    };
    const byHand = () => {
      const area = element('textarea');
      area.value = text;
      area.readOnly = true;
      document.body.append(area);
      area.select();
      try {
        if (document.execCommand('copy')) done();
      } finally {
        area.remove();
        from.focus();
      }
    };
    if (navigator.clipboard && isSecureContext) navigator.clipboard.writeText(text).then(done, byHand);
    else byHand();
  }
  function command(text) {
    const made = element('div', 'command');
    made.append(element('code', '', text));
    const from = button('', 'Copy', () => copy(text, from));
    made.append(from);
    return made;
  }
  for (const place of findAll('.command')) {
    const from = button('', 'Copy', () => copy(find('code', place).textContent, from));
    place.append(from);
  }
  const shellWord = (word) => (/^[\w.,:\/@%+=-][\w.,:\/@%+=#-]*$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'");
  const commandFor = (...words) => words.concat(data.words, data.file).map(shellWord).join(' ');
  /** A pattern of `--type` for a name as it is shown: what was cut out of it, or made readable, stands for anything. */
  function patternFor(name) {
    const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const parts = name.split(/ …\(\d+ more\)… |\\u\{[0-9a-f]+\}/);
    return '/^' + parts.map(literal).join('.+') + '$/';
  }

  // ---- the address: #section?key=value&... ----

  function putAddress(section, values) {
    const query = new URLSearchParams();
    for (const key in values) if (values[key] != null && values[key] !== '') query.set(key, values[key]);
    const text = query.toString();
    try {
      history.replaceState(null, '', '#' + section + (text ? '?' + text : ''));
    } catch {
      // A sandboxed frame has no address to write to.
    }
  }
  function address() {
    const hash = location.hash.slice(1);
    const at = hash.indexOf('?');
    return at < 0 ? [hash, new URLSearchParams()] : [hash.slice(0, at), new URLSearchParams(hash.slice(at + 1))];
  }
  /** A filter as `--type` takes it: a part of the name, or /regex/. `null` when it is empty or not well formed. */
  function matcher(text) {
    if (!text) return null;
    if (text.length > 2 && text.startsWith('/') && text.endsWith('/')) {
      try {
        const pattern = new RegExp(text.slice(1, -1));
        return (name) => pattern.test(name);
      } catch {
        return null;
      }
    }
    const lower = text.toLowerCase();
    return (name) => name.toLowerCase().includes(lower);
  }
  function later(wait, action) {
    let timer;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(action, wait);
    };
  }

  // ---- tables: sort, filter, more rows ----

  /** `columns`: {key, value(row), format, make(row), text: true for names}. A column with `bar` draws its value. */
  function makeTable(id, rows, columns, options) {
    const section = document.getElementById(id);
    if (!section) return null;
    const body = find('tbody', section);
    const heads = findAll('thead th', section);
    const input = find('input[type=search]', section);
    const counter = find('.counter', section);
    const more = find('button.more', section);
    const region = find('.scroll', section);
    const byKey = (key) => columns.find((column) => column.key === key && !column.bar);
    let sortKey = options.sort;
    let descending = true;
    let query = '';
    let shown = options.rows;
    let view = rows;

    const largest = new Map(
      columns.filter((column) => column.bar).map((column) => {
        return [column, rows.reduce((most, row) => Math.max(most, Math.abs(column.value(row) || 0)), 0)];
      }),
    );
    function order() {
      const matches = matcher(query);
      view = matches ? rows.filter((row) => matches(options.name(row))) : rows.slice();
      const { value } = byKey(sortKey);
      const sign = descending ? -1 : 1;
      const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
      const number = (x) => (x == null ? -Infinity : x);
      view.sort((a, b) => sign * compare(number(value(a)), number(value(b))) || compare(options.name(a), options.name(b)));
    }
    function rowElement(row) {
      const made = element('tr');
      for (const column of columns) {
        const cell = element('td', column.bar ? 'bars' : column.text ? 'name' : '');
        if (column.bar) cell.append(bar(column.value(row), largest.get(column)));
        else if (column.make) cell.append(column.make(row));
        else cell.textContent = column.format ? column.format(column.value(row)) : column.value(row);
        made.append(cell);
      }
      return made;
    }
    function show(from) {
      const fragment = document.createDocumentFragment();
      view.slice(from, shown).forEach((row) => fragment.append(rowElement(row)));
      if (from) body.append(fragment);
      else body.replaceChildren(fragment);
      columns.forEach((column, at) => {
        if (column.key === sortKey && !column.bar) {
          heads[at].setAttribute('aria-sort', descending ? 'descending' : 'ascending');
        } else heads[at].removeAttribute('aria-sort');
      });
      const left = Math.max(0, view.length - shown);
      const of = query ? ' of ' + count(rows.length) : '';
      counter.textContent = count(view.length) + of + ' ' + options.noun + (options.sum ? ', ' + options.sum(view) : '');
      if (!left && document.activeElement === more) region.focus();
      more.hidden = !left;
      more.textContent = 'Show ' + count(Math.min(left, 500)) + ' more of ' + count(left);
    }
    function refresh(keepAddress) {
      order();
      show(0);
      if (keepAddress) return;
      const isDefault = sortKey === options.sort && descending;
      putAddress(id, { q: query, sort: isDefault ? '' : (descending ? '-' : '') + sortKey });
    }
    function setQuery(text, keepAddress) {
      query = text;
      shown = options.rows;
      refresh(keepAddress);
    }
    columns.forEach((column, at) => {
      if (column.bar) return;
      const title = heads[at].textContent;
      const sorter = button('', title, () => {
        if (sortKey === column.key) descending = !descending;
        else {
          sortKey = column.key;
          descending = !column.text;
        }
        refresh();
      });
      heads[at].replaceChildren(sorter);
    });
    input.addEventListener('input', later(80, () => setQuery(input.value)));
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      input.value = '';
      setQuery('');
    });
    more.addEventListener('click', () => {
      const from = shown;
      shown += 500;
      show(from);
    });
    refresh(true);
    return {
      filter(text) {
        input.value = text;
        setQuery(text);
      },
      restore(query) {
        const sort = query.get('sort') || '';
        const key = sort.replace(/^-/, '');
        if (byKey(key)) {
          sortKey = key;
          descending = sort.startsWith('-');
        }
        input.value = query.get('q') || '';
        setQuery(input.value, true);
      },
    };
  }
  const note = (of, at) => (of && of[at]) || 0;

  const tables = {};
  /** A table of the data's own figures, the first of which has bars; of types the names are numbers of names. */
  function figureTable(id, of, key, options) {
    const isOfTypes = key === 'type';
    const name = (row) => (isOfTypes ? nameOf(of.name[row]) : of.name[row]);
    const columns = of.figures.map(([key, isBytes, isGrowth]) => {
      const format = isBytes ? size : count;
      return { key, value: (row) => of[key][row], format: isGrowth ? signed(format) : format };
    });
    const sort = columns[0].key;
    columns.unshift({ ...columns[0], bar: true });
    columns.push({ key, text: true, value: name, make: isOfTypes && ((row) => typeName(of.name[row])) });
    tables[id] = makeTable(id, of.name.map((_, at) => at), columns, { sort, name, ...options });
  }
  const shallow = data.types.shallow;
  const sum = shallow && ((rows) => size(rows.reduce((total, row) => total + shallow[row], 0)) + ' shallow');
  figureTable('types', data.types, 'type', { rows: 50, noun: 'types', sum });
  for (const group of data.groups) figureTable(group.noun, group, 'group', { rows: 20, noun: group.noun });
  if (data.growth) figureTable('growth', data.growth, 'type', { rows: 25, noun: 'types changed' });

  // ---- the map: the dominator tree merged by type (or backtraces) as an icicle ----

  const ROW = 23;
  const LEVELS = 26;
  const NARROWEST = 4;
  const KINDS = { a: 'application', l: 'library', d: 'plain' };

  function makeMap() {
    const box = find('#boxes');
    if (!box) return null;
    const info = find('#map-info');
    const crumbs = find('#map-crumbs');
    const input = find('#map-find');
    const counter = find('#map-found');
    const choice = find('#map-choice');
    const zoomed = find('#map-zoomed');
    let at = 0;
    let tree;
    let children;
    let zoom = 0;
    // Children of the zoomed box before this one are left out, so that smaller ones have room; null: none are, unless
    // all are too narrow.
    let skip = null;
    let selected = 0;
    let query = '';
    let hits = null;
    let aboveHits = null;
    let drawn = new Map();

    function load(number) {
      at = number;
      tree = data.maps[number];
      children = tree.parent.map(() => []);
      for (let node = 1; node < tree.parent.length; node += 1) children[tree.parent[node]].push(node);
      zoom = 0;
      skip = null;
      selected = (tree.marks && Number(Object.keys(tree.marks).find((node) => tree.marks[node] === 1))) || 0;
      if (choice) choice.value = String(number);
    }
    const whole = () => tree.bytes[0];
    const isOther = (node) => tree.name[node] < 0;
    const label = (node) => (node === 0 ? tree.title : isOther(node) ? '<other>' : nameOf(tree.name[node]));
    const short = (node) => (node === 0 || isOther(node) ? label(node) : brief(tree.name[node]));
    const kind = (node) => (node === 0 ? 'library' : isOther(node) ? 'other' : KINDS[data.kinds[tree.name[node]]]);
    function wayTo(node) {
      const way = [];
      for (let step = node; step > 0; step = tree.parent[step]) way.unshift(step);
      return way;
    }

    const isNarrow = (child, node, width) => isOther(child) || (width * tree.bytes[child]) / (tree.bytes[node] || 1) < NARROWEST;
    /** From which child on the zoomed box is drawn in full width; null when its children fit below it as they are. */
    function firstOfRest(width) {
      if (skip != null) return skip;
      const below = children[zoom];
      const isTooNarrow = below.some((child) => !isOther(child)) && below.every((child) => isNarrow(child, zoom, width));
      return isTooNarrow ? 0 : null;
    }
    /** The small children of the zoomed box, as wide as there is room; what the page does not have takes a tenth. */
    function layOutRest(from, level, width, stack, narrow) {
      const rest = children[zoom].slice(from);
      const rows = rest.filter((child) => !isOther(child));
      const other = rest.find(isOther);
      const room = other === undefined ? width : width * 0.9;
      const bytes = rows.reduce((sum, child) => sum + tree.bytes[child], 0) || 1;
      let left = 0;
      for (const child of rows) {
        const own = (room * tree.bytes[child]) / bytes;
        if (own < NARROWEST) break;
        stack.push({ node: child, level, left, width: own });
        left += own;
      }
      const drawn = stack.filter((one) => one.level === level).length;
      if (drawn < rows.length) {
        const hit = Boolean(hits && rows.slice(drawn).some((child) => aboveHits[child]));
        narrow.push({ under: zoom, from: from + drawn, level, left, width: room - left, rows: rows.length - drawn, hit });
      }
      if (other !== undefined) {
        narrow.push({ under: zoom, from: null, level, left: room, width: width - room, rows: note(tree.hidden, other) || 1, hit: false });
      }
    }
    /** Boxes to draw: {node, level, left, width, above}; and what is too narrow: {under, from, level, left, width, rows, hit}. */
    function layOut(width) {
      const boxes = [];
      const narrow = [];
      const above = zoom ? [0, ...wayTo(zoom).slice(0, -1)] : [];
      above.forEach((node, level) => boxes.push({ node, level, left: 0, width, above: true }));
      const top = above.length;
      const stack = [{ node: zoom, level: top, left: 0, width }];
      const from = firstOfRest(width);
      if (from != null) {
        boxes.push(stack.pop());
        layOutRest(from, top + 1, width, stack, narrow);
      }
      while (stack.length) {
        const now = stack.pop();
        boxes.push(now);
        if (now.level - top >= LEVELS) continue;
        let left = now.left;
        let rest = null;
        for (const child of children[now.node]) {
          const own = (now.width * tree.bytes[child]) / (tree.bytes[now.node] || 1);
          if (own >= NARROWEST && !isOther(child)) stack.push({ node: child, level: now.level + 1, left, width: own });
          else {
            const at = isOther(child) ? null : children[now.node].indexOf(child);
            rest = rest || { under: now.node, from: at, level: now.level + 1, left, width: 0, rows: 0, hit: false };
            rest.rows += isOther(child) ? note(tree.hidden, child) || 1 : 1;
            rest.width = left + own - rest.left;
            rest.hit = rest.hit || Boolean(hits && aboveHits[child]);
          }
          left += own;
        }
        if (rest && rest.width >= 3) narrow.push(rest);
      }
      return { boxes, narrow };
    }
    function place(made, level, left, width) {
      made.style.left = left + 'px';
      made.style.top = level * ROW + 'px';
      made.style.width = Math.max(1, width) + 'px';
    }
    const ruler = document.createElement('canvas').getContext('2d');
    ruler.font = '12.5px ' + getComputedStyle(document.body).fontFamily;
    const widthOf = (text) => ruler.measureText(text).width;
    function boxElement({ node, level, left, width, above }) {
      const made = element('button', 'box ' + kind(node));
      made.type = 'button';
      made.dataset.node = node;
      made.tabIndex = node === selected ? 0 : -1;
      if (above) made.classList.add('above');
      if (width < 14) made.classList.add('thin');
      if (node === selected) made.classList.add('selected');
      if (hits && hits.has(node)) made.classList.add('hit');
      place(made, level, left, width);
      made.setAttribute('role', 'treeitem');
      made.setAttribute('aria-level', level + 1);
      made.setAttribute('aria-selected', node === selected);
      const objects = count(tree.objects[node]) + ' ' + tree.noun;
      made.setAttribute('aria-label', [label(node), size(tree.bytes[node]), share(tree.bytes[node], whole()), objects].join(', '));
      if (children[node].length) made.setAttribute('aria-expanded', !above);
      const mark = note(tree.marks, node);
      if (mark && width > 24) made.append(element('b', 'mark mark-' + Math.min(mark, 3), mark));
      if (width > 26) {
        const deep = note(tree.deep, node);
        const reference = note(tree.references, node);
        const name = (node && isOther(node) ? 'other' : short(node)) + (deep ? ' ×' + count(deep) + ' deep' : '');
        const named = reference ? reference + '  ' + name : name;
        const sized = named + '  ' + size(tree.bytes[node]);
        // Names are whole or not there; the line below the map has them all.
        const texts = [sized + '  ' + share(tree.bytes[node], whole()), sized, named, name];
        made.append(texts.find((text) => widthOf(text) + (mark ? 31 : 12) <= width) ?? '');
      }
      return made;
    }
    function narrowElement({ under, from, level, left, width, rows, hit }) {
      const text = width > 60 ? count(rows) + ' smaller' + (hit && width > 150 ? ', some found' : '') : '';
      const made = element('div', 'box narrow' + (hit ? ' hit' : ''), text);
      const isHere = from != null;
      made.title = count(rows) + ' smaller rows below ' + short(under) + (isHere ? ': a click shows them' : ', not on this page: the command below prints them');
      if (isHere) {
        made.dataset.under = under;
        made.dataset.from = from;
      } else made.classList.add('nowhere');
      place(made, level, left, width);
      return made;
    }
    function draw() {
      const width = box.clientWidth;
      if (!width) return;
      const hadFocus = box.contains(document.activeElement);
      const { boxes, narrow } = layOut(width);
      if (!boxes.some((made) => made.node === selected)) selected = zoom;
      const fragment = document.createDocumentFragment();
      drawn = new Map();
      let deepest = 0;
      for (const one of boxes) {
        const made = boxElement(one);
        drawn.set(one.node, made);
        fragment.append(made);
        deepest = Math.max(deepest, one.level);
      }
      for (const one of narrow) {
        fragment.append(narrowElement(one));
        deepest = Math.max(deepest, one.level);
      }
      box.replaceChildren(fragment);
      box.style.height = (deepest + 1) * ROW + 2 + 'px';
      box.classList.toggle('finding', Boolean(hits));
      crumbs.replaceChildren();
      [0, ...wayTo(zoom)].forEach((node, place) => {
        if (place) crumbs.append(' › ');
        crumbs.append(button('plain-button', node ? short(node) : 'Everything', () => zoomTo(node, true)));
      });
      if (skip != null) crumbs.append(element('span', 'quiet', ' › the smaller ones, each as wide as among these'));
      showCommand();
      describe(selected);
      if (hadFocus) drawn.get(selected).focus({ preventScroll: true });
    }
    /** The command for what is zoomed: of the nearest box that is one object. */
    function showCommand() {
      const way = wayTo(zoom).filter((node) => note(tree.ids, node));
      const node = way[way.length - 1];
      zoomed.replaceChildren();
      findAll('[data-map-command]').forEach((made) => (made.hidden = node !== undefined || Number(made.dataset.mapCommand) !== at));
      if (node === undefined) return;
      const least = ['--min-bytes', String(Math.max(1, tree.minimum_bytes))];
      zoomed.append(command(commandFor('heapdump', 'breakdown', ...least, '-n', '0', tree.ids[node])));
      if (node !== zoom) zoomed.append(element('p', 'quiet', 'Of ' + short(node) + ', the nearest box above that is one object.'));
    }
    function describe(node) {
      info.replaceChildren();
      const parent = tree.parent[node];
      const words = [size(tree.bytes[node]), share(tree.bytes[node], whole()) + ' of ' + tree.title, count(tree.objects[node]) + ' ' + tree.noun];
      if (!node) words.splice(1, 1);
      if (note(tree.ids, node)) words.unshift(tree.ids[node]);
      if (node && parent > 0) words.push(share(tree.bytes[node], tree.bytes[parent]) + ' of ' + short(parent));
      const deep = note(tree.deep, node);
      if (deep) words.push(count(deep) + ' levels of the same name folded into one');
      const hidden = note(tree.hidden, node);
      if (hidden) words.push(count(hidden) + ' rows under ' + size(tree.minimum_bytes) + ' added up here');
      if (note(tree.references, node)) info.append(element('span', 'reference', tree.references[node]), '  ');
      info.append(node === 0 || isOther(node) ? element('b', '', label(node)) : typeName(tree.name[node]), element('span', 'quiet', ' ' + words.join('; ')));
      if (node && !isOther(node) && data.objects) {
        info.append(
          button('plain-button', 'In the table of types', () => {
            tables.types.filter(label(node));
            document.getElementById('types').scrollIntoView();
            find('#types input[type=search]').focus();
          }),
        );
        const id = note(tree.ids, node);
        const text = id ? commandFor('heapdump', 'roots', id) : commandFor('heapdump', 'roots', '--type', patternFor(label(node)));
        const from = button('plain-button', 'Copy the command for its root paths', () => copy(text, from));
        info.append(from);
      }
    }
    function keepAddress() {
      const way = wayTo(zoom).map((node) => children[tree.parent[node]].indexOf(node));
      putAddress('map', { of: at || '', at: way.join('.'), from: skip, q: query });
    }
    function select(node, focus) {
      const before = drawn.get(selected);
      if (before) {
        before.classList.remove('selected');
        before.setAttribute('aria-selected', false);
        before.tabIndex = -1;
      }
      selected = node;
      const made = drawn.get(node);
      if (made) {
        made.classList.add('selected');
        made.setAttribute('aria-selected', true);
        made.tabIndex = 0;
        if (focus) made.focus({ preventScroll: true });
      }
      describe(node);
    }
    function zoomTo(node, focus, from) {
      zoom = node;
      skip = from ?? null;
      selected = from == null ? node : children[node][from];
      draw();
      keepAddress();
      if (focus) drawn.get(selected).focus({ preventScroll: true });
      announce('Zoomed to ' + short(node) + ', ' + size(tree.bytes[node]));
    }
    function search(text) {
      query = text;
      const matches = matcher(text);
      hits = null;
      counter.textContent = '';
      if (matches) {
        hits = new Set();
        const known = new Map();
        const isHit = (name) => {
          if (name < 0) return false;
          if (!known.has(name)) known.set(name, matches(nameOf(name)));
          return known.get(name);
        };
        // What is found inside of what was found is not counted again.
        const inside = new Uint8Array(tree.name.length);
        let bytes = 0;
        for (let node = 1; node < tree.name.length; node += 1) {
          inside[node] = inside[tree.parent[node]];
          if (!isHit(tree.name[node])) continue;
          hits.add(node);
          if (!inside[node]) bytes += tree.bytes[node];
          inside[node] = 1;
        }
        aboveHits = new Uint8Array(tree.name.length);
        for (let node = tree.name.length - 1; node > 0; node -= 1) {
          if (hits.has(node)) aboveHits[node] = 1;
          if (aboveHits[node]) aboveHits[tree.parent[node]] = 1;
        }
        counter.textContent = count(hits.size) + ' found, ' + size(bytes) + ' together (' + share(bytes, whole()) + ')';
      }
      draw();
    }

    const boxOf = (event) => event.target.closest('.box');
    box.addEventListener('click', (event) => {
      const made = boxOf(event);
      if (!made) return;
      if (made.dataset.under) return zoomTo(Number(made.dataset.under), true, Number(made.dataset.from));
      if (!made.dataset.node) return;
      const node = Number(made.dataset.node);
      if ((node === selected && children[node].length) || made.classList.contains('above')) zoomTo(node, true);
      else select(node, true);
    });
    box.addEventListener('mouseover', (event) => {
      const made = boxOf(event);
      if (made && made.dataset.node) describe(Number(made.dataset.node));
    });
    box.addEventListener('mouseleave', () => describe(selected));
    box.addEventListener('keydown', (event) => {
      const siblings = selected ? children[tree.parent[selected]] : [];
      const next = (step) => siblings[siblings.indexOf(selected) + step];
      let target;
      switch (event.key) {
        case 'ArrowDown':
          target = children[selected].find((child) => drawn.has(child)) ?? children[selected][0];
          break;
        case 'ArrowUp':
          target = selected ? tree.parent[selected] : undefined;
          break;
        case 'ArrowRight':
          target = next(1);
          break;
        case 'ArrowLeft':
          target = next(-1);
          break;
        case 'Home':
          target = 0;
          break;
        case 'Enter':
        case ' ':
          event.preventDefault();
          return zoomTo(selected, true);
        case 'Escape':
        case 'Backspace':
          event.preventDefault();
          return zoomTo(zoom && skip == null ? tree.parent[zoom] : zoom, true);
        default:
          return;
      }
      event.preventDefault();
      if (target === undefined || (isOther(target) && target !== 0)) return;
      // What is too narrow is shown by zooming into what it is part of; among smaller ones if need be.
      const parent = Math.max(0, tree.parent[target]);
      for (const from of [null, children[parent].indexOf(target)]) {
        if (drawn.has(target)) break;
        zoomTo(target ? parent : 0, true, target ? from : null);
      }
      select(drawn.has(target) ? target : selected, true);
    });
    input.addEventListener('input', later(80, () => {
      search(input.value);
      keepAddress();
    }));
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      input.value = '';
      search('');
      keepAddress();
    });
    if (choice) {
      choice.addEventListener('change', () => {
        load(Number(choice.value));
        search(query);
        keepAddress();
      });
    }
    addEventListener('resize', later(60, draw));
    load(0);
    draw();
    return {
      draw,
      restore(values) {
        const number = Number(values.get('of') || 0);
        load(data.maps[number] ? number : 0);
        let node = 0;
        for (const step of (values.get('at') || '').split('.').filter(Boolean)) {
          const child = children[node][Number(step)];
          if (child === undefined) break;
          node = child;
        }
        if (node) selected = node;
        zoom = node;
        const from = values.get('from');
        skip = from && children[node][Number(from)] !== undefined ? Number(from) : null;
        if (skip != null) selected = children[node][skip];
        input.value = values.get('q') || '';
        search(input.value);
      },
    };
  }

  // ---- the biggest objects: the dominator tree, row by row ----

  function makeObjects() {
    const section = document.getElementById('objects');
    const of = data.objects;
    if (!section || !of) return null;
    const body = find('tbody', section);
    const children = of.id.map(() => []);
    const tops = [];
    of.parent.forEach((parent, row) => (parent < 0 ? tops : children[parent]).push(row));
    const largest = tops.reduce((most, row) => Math.max(most, of.retained[row]), 0);
    const elements = new Map();
    const open = new Set();
    const level = (made) => Number(made.getAttribute('aria-level'));
    /** Levels of indent: the one row below another stays at its indent, behind an arrow. */
    const indents = [];
    const isChained = (row) => of.parent[row] >= 0 && children[of.parent[row]].length === 1;
    of.parent.forEach((parent, row) => indents.push(parent < 0 ? 0 : indents[parent] + (isChained(row) && isChained(parent) ? 0 : 1)));

    function rowElement(row, depth) {
      const made = element('tr');
      made.dataset.row = row;
      made.setAttribute('aria-level', depth + 1);
      const cell = (className, content) => {
        const place = element('td', className);
        place.append(content);
        made.append(place);
      };
      cell('bars', bar(of.retained[row], largest));
      cell('', size(of.retained[row]));
      cell('', share(of.retained[row], data.reachable_bytes));
      cell('', of.shallow[row] == null ? '' : size(of.shallow[row]));
      cell('', count(of.objects[row]));
      const line = element('div');
      line.style.paddingLeft = 'min(' + indents[row] * 1.1 + 'rem, 25%)';
      const toggler = button('toggle', '', () => toggle(row));
      line.append(toggler);
      const text = element('span', 'object');
      if (indents[row] > 1) text.append(element('span', 'quiet depth' + (indents[row] > 10 ? ' deep' : ''), '(' + depth + ') '));
      if (isChained(row)) text.append('→ ');
      if (of.name[row] < 0) {
        text.append(element('i', 'quiet', of.id[row]));
      } else {
        text.append(element('span', 'id', of.id[row]), '  ');
        if (note(of.references, row)) text.append(element('span', 'reference', of.references[row]), '  ');
        text.append(typeName(of.name[row]));
        if (note(of.said, row)) text.append(' ', element('span', 'said', of.said[row]));
        if (note(of.runs, row)) text.append(element('span', 'quiet', ' ×' + count(of.runs[row]) + ', one below the other'));
        const why = button('plain-button why', 'why?', () => toggleWhy(row));
        why.setAttribute('aria-label', 'Why is ' + of.id[row] + ' alive');
        text.append(' ', why);
      }
      line.append(text);
      cell('tree', line);
      elements.set(row, made);
      showToggle(row, toggler);
      return made;
    }
    function showToggle(row, toggler) {
      toggler.disabled = !children[row].length;
      toggler.textContent = children[row].length ? (open.has(row) ? '▾' : '▸') : '·';
      if (!children[row].length) return toggler.setAttribute('aria-hidden', 'true');
      toggler.setAttribute('aria-expanded', open.has(row));
      toggler.setAttribute('aria-label', (open.has(row) ? 'Close ' : 'Open ') + of.id[row]);
    }
    const whyOf = (made) => {
      const next = made.nextElementSibling;
      return next && next.classList.contains('why-row') ? next : null;
    };
    function toggle(row, keepAddress) {
      const made = elements.get(row);
      const depth = level(made);
      if (open.has(row)) {
        open.delete(row);
        let next = (whyOf(made) || made).nextElementSibling;
        while (next && (next.classList.contains('why-row') || level(next) > depth)) {
          const after = next.nextElementSibling;
          if (next.dataset.row) {
            open.delete(Number(next.dataset.row));
            elements.delete(Number(next.dataset.row));
          }
          next.remove();
          next = after;
        }
      } else {
        open.add(row);
        let last = whyOf(made) || made;
        for (const child of children[row]) {
          const added = rowElement(child, depth);
          last.after(added);
          last = added;
        }
      }
      showToggle(row, find('.toggle', made));
      if (!keepAddress) putAddress('objects', { id: of.id[row], open: open.has(row) ? 1 : '' });
    }
    function toggleWhy(row, keepAddress) {
      const made = elements.get(row);
      const shown = whyOf(made);
      if (shown) {
        shown.remove();
        return putAddress('objects', { id: of.id[row] });
      }
      const added = element('tr', 'why-row');
      const cell = element('td');
      cell.colSpan = 6;
      const path = data.paths[row];
      if (path) {
        const list = element('ol', 'path');
        list.append(element('li', 'root', path.root));
        for (const [id, name, isOnAll, reference] of path.steps) {
          const step = element('li', name < 0 ? 'members quiet' : isOnAll ? 'on-all' : '');
          if (name < 0) step.textContent = id;
          else if (reference) step.append(element('span', 'reference', reference), '  ');
          if (name >= 0) step.append(element('span', 'id', id), '  ', typeName(name, true));
          list.append(step);
        }
        cell.append(list, element('p', 'quiet', 'Filled: all paths lead through it, so cutting there frees the object. Hollow: there are other ways around it.'));
      } else {
        cell.append(element('p', 'quiet', 'Kept alive by what is above it in this table. The path from a root:'));
      }
      cell.append(command(commandFor('heapdump', 'roots', of.id[row])));
      added.append(cell);
      made.after(added);
      if (!keepAddress) putAddress('objects', { id: of.id[row], why: 1 });
    }
    function reveal(id, values) {
      const row = of.id.findIndex((known, at) => known === id && of.name[at] >= 0);
      if (row < 0) return false;
      const above = [];
      for (let parent = of.parent[row]; parent >= 0; parent = of.parent[parent]) above.unshift(parent);
      above.forEach((parent) => open.has(parent) || toggle(parent, true));
      const made = elements.get(row);
      if (values && values.get('open') && !open.has(row)) toggle(row, true);
      if (values && values.get('why') && !whyOf(made)) toggleWhy(row, true);
      findAll('tr.shown', body).forEach((other) => other.classList.remove('shown'));
      made.classList.add('shown');
      made.scrollIntoView({ block: 'center' });
      const target = find('.toggle:not(:disabled)', made) || find('button.why', made);
      if (target) target.focus({ preventScroll: true });
      return true;
    }
    body.addEventListener('keydown', (event) => {
      const made = event.target.closest('tr[data-row]');
      if (!made) return;
      const row = Number(made.dataset.row);
      const focusOn = (other) => {
        const target = other && (find('.toggle:not(:disabled)', other) || find('button.why', other));
        if (target) target.focus();
        return Boolean(target);
      };
      if (event.key === 'ArrowRight') {
        if (children[row].length && !open.has(row)) toggle(row);
      } else if (event.key === 'ArrowLeft') {
        if (open.has(row)) toggle(row);
        else if (of.parent[row] >= 0) focusOn(elements.get(of.parent[row]));
      } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        const side = event.key === 'ArrowDown' ? 'nextElementSibling' : 'previousElementSibling';
        let next = made[side];
        while (next && !(next.dataset.row && focusOn(next))) next = next[side];
      } else return;
      event.preventDefault();
    });
    const fragment = document.createDocumentFragment();
    tops.forEach((row) => fragment.append(rowElement(row, 0)));
    body.replaceChildren(fragment);
    const shownIds = new Set(of.id.filter((_, row) => of.name[row] >= 0));
    for (const from of findAll('button[data-object]')) {
      const id = [from.dataset.object, from.dataset.else].find((id) => shownIds.has(id));
      from.hidden = id === undefined;
      from.addEventListener('click', () => reveal(id) && putAddress('objects', { id }));
    }
    return { reveal };
  }

  const map = data.maps && data.maps.length ? makeMap() : null;
  const objects = makeObjects();

  // ---- tickets, the address, keys, theme, print ----

  for (const from of findAll('button[data-ticket]')) {
    from.addEventListener('click', () => copy(data.tickets[Number(from.dataset.ticket)], from));
  }
  function restore() {
    const [section, values] = address();
    if (section === 'map' && map) map.restore(values);
    else if (section === 'objects' && objects && values.get('id')) return void objects.reveal(values.get('id'), values);
    else if (tables[section] && [...values].length) tables[section].restore(values);
    const target = section && document.getElementById(section);
    if (target && [...values].length) target.scrollIntoView();
  }
  addEventListener('hashchange', restore);
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === '/') {
      const distance = (input) => Math.abs(input.getBoundingClientRect().top - 120);
      const [nearest] = findAll('input[type=search]').sort((a, b) => distance(a) - distance(b));
      if (!nearest) return;
      event.preventDefault();
      nearest.focus();
      nearest.select();
    } else if (event.key === '?') {
      const keys = find('#keys');
      keys.open = true;
      keys.scrollIntoView();
      find('summary', keys).focus({ preventScroll: true });
    } else if (/^[1-9]$/.test(event.key)) {
      const link = findAll('nav a')[Number(event.key) - 1];
      if (link) link.click();
    }
  });
  const THEMES = ['auto', 'light', 'dark'];
  let theme = 0;
  const themeButton = find('#theme');
  themeButton.addEventListener('click', () => {
    theme = (theme + 1) % THEMES.length;
    if (theme) root.dataset.theme = THEMES[theme];
    else delete root.dataset.theme;
    themeButton.textContent = 'Theme: ' + THEMES[theme];
  });
  addEventListener('beforeprint', () => {
    findAll('details').forEach((details) => (details.open = true));
    if (map) map.draw();
  });
  if (location.hash) restore();
  performance.mark('ready');
})();
