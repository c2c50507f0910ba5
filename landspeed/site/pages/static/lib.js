/* Shared by all pages: building elements, loading data, state in the address, formatting numbers. */

/* Create an element. Data become text or attributes, never HTML, so they cannot inject any. */
export function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false) {
            continue;
        }
        if (name.startsWith('on')) {
            element.addEventListener(name.slice(2), value);
        } else if (name === 'class') {
            element.className = value;
        } else if (value === true) {
            element.setAttribute(name, '');
        } else {
            element.setAttribute(name, String(value));
        }
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
}

export function svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) {
        element.setAttribute(name, String(value));
    }
    element.append(...children);
    return element;
}

const here = new URL('.', import.meta.url);
export const site = new URL('..', here);
const loaded = new Map();

/* Load a data file of the pages, at most once. */
export function load(path) {
    if (!loaded.has(path)) {
        loaded.set(path, fetchJson(new URL(`data/${path}`, here)));
    }
    return loaded.get(path);
}

export async function fetchJson(address) {
    const answer = await fetch(address);
    if (!answer.ok) {
        throw new Error(`${answer.status} ${address.pathname || address}`);
    }
    return answer.json();
}

export const dataAddress = (path) => new URL(`data/${path}`, here).href;

/* --- state is in the address, so that a view can be sent as a link --------------------------- */

export function asked(name) {
    return new URLSearchParams(location.search).get(name);
}

export function remember(choices) {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(choices)) {
        const text = Array.isArray(value) ? value.join(',') : value;
        if (text === null || text === undefined || text === '') {
            query.delete(name);
        } else {
            query.set(name, text);
        }
    }
    history.replaceState(null, '', `${location.pathname}?${query}`);
}

/* The handler of a control: put the choice into the address and draw the page again. */
export const chooses = (name, again, spelled = (value) => value) => (value) => {
    remember({[name]: spelled(value)});
    again();
};

/* --- controls ------------------------------------------------------------------------------- */

/* The controls of a page. */
export const form = (...parts) =>
    h('form', {class: 'controls', onsubmit: (event) => event.preventDefault()}, ...parts);

/* A drop-down list; null if there is nothing to choose. */
export function select(label, options, chosen, changed) {
    if (options.length < 2) {
        return null;
    }
    const list = h('select', {'data-key': label, onchange: () => changed(options[list.selectedIndex].value)},
        options.map((one) => h('option', {selected: one.value === chosen}, one.text)));
    list.selectedIndex = Math.max(0, options.findIndex((one) => one.value === chosen));
    return h('label', {class: 'field'}, h('span', {}, label), list);
}

export function check(label, checked, changed) {
    const box = h('input', {type: 'checkbox', 'data-key': label,
        onchange: () => changed(box.checked)});
    box.checked = checked;
    return h('label', {class: 'check'}, box, label);
}

/* Checkboxes. Minor options that are not chosen are behind one more click. */
export function chips(label, options, chosen, changed) {
    if (options.length < 2) {
        return null;
    }
    const boxes = options.map((one) => {
        const box = h('input', {type: 'checkbox', value: one.value, 'data-key': one.value});
        box.checked = chosen.includes(one.value);
        box.addEventListener('change', () => changed(
            boxes.filter((other) => other.checked).map((other) => other.value)));
        return box;
    });
    const chip = (one, i) => h('label', {}, boxes[i], one.text);
    const isMinor = (one) => one.minor && !chosen.includes(one.value);
    const major = options.map((one, i) => (isMinor(one) ? null : chip(one, i)));
    const minor = options.map((one, i) => (isMinor(one) ? chip(one, i) : null)).filter(Boolean);
    return h('fieldset', {class: 'chips'}, h('legend', {}, label), h('div', {}, major),
        minor.length ? h('details', {'data-key': `more ${label}`},
            h('summary', {'data-key': `all ${label}`}, `${minor.length} more`),
            h('div', {}, minor)) : null);
}

export const options = (values, text = String) => values.map(
    (value) => ({value, text: text(value)}));

/* *wanted* if it is one of *values*, else the default. */
export const oneOf = (wanted, values, other = values[0]) =>
    (values.includes(wanted) ? wanted : other);

export const unique = (values) => [...new Set(values)];

/* --- words and numbers ---------------------------------------------------------------------- */

const FORM = new Intl.NumberFormat('en', {maximumSignificantDigits: 4});
const WHOLE = new Intl.NumberFormat('en', {maximumFractionDigits: 0});

export function number(value) {
    if (value === null || value === undefined || Number.isNaN(value)) {
        return '–';
    }
    return Math.abs(value) >= 1000 ? WHOLE.format(value) : FORM.format(value);
}

export const count = (value, noun) => `${WHOLE.format(value)} ${noun}${value === 1 ? '' : 's'}`;

/* A ratio as a change: +1.2 %. */
export function change(ratio) {
    const share = 100 * (ratio - 1);
    const digits = Math.abs(share) >= 9.95 ? 0 : Math.abs(share) >= 1 ? 1 : 2;
    const text = Math.abs(share).toFixed(digits);
    return `${share < 0 ? '−' : '+'}${text} %`;
}

export const interval = (numbers) => (numbers.low === undefined ? 'no interval'
    : `${number(numbers.low)} … ${number(numbers.high)}`);

export const spellMetric = (index, name) =>
    `${name.replaceAll('_', ' ')}, ${index.metrics[name].unit}`;

export const better = (index, name) => `${index.metrics[name].better} is better`;

/* A function that compares names of versions by the order of versions. */
export function versionOrder(index) {
    const ranks = new Map(index.order.map((name, i) => [name, i]));
    return (one, other) => (ranks.get(one) ?? -1) - (ranks.get(other) ?? -1);
}

export const scaleText = (panel) =>
    (panel.factor === null ? panel.tier : `${panel.tier} (scale ${panel.factor})`);

/* --- time ------------------------------------------------------------------------------------ */

/* The status in one sentence or two. */
export function statusLine(machines, failures) {
    const tips = machines.flatMap((one) => one.tips).sort((a, b) => (a.date < b.date ? 1 : -1));
    const last = machines.map((one) => one.last).filter(Boolean).sort().pop();
    const failed = failures.length ? ` ${count(failures.length, 'build')} failed.` : '';
    const newest = tips.length ? ` The newest judged commit is ${age(tips[0].date)} old.` : '';
    return `${count(machines.length, 'machine')}, last heard of ${ago(last)}.${newest}${failed}`;
}

export function age(time) {
    const hours = (Date.now() - Date.parse(time)) / 3.6e6;
    return hours < 1 ? 'less than an hour' : hours < 48 ? count(Math.round(hours), 'hour')
        : count(Math.round(hours / 24), 'day');
}

export const ago = (time) => `${age(time)} ago`;

/* --- tables --------------------------------------------------------------------------------- */

/* columns: [{title, cell(row) → text or element, number}] */
export function table(columns, rows, caption) {
    const head = h('thead', {}, h('tr', {}, columns.map((one) => h('th',
        {scope: 'col', class: one.number ? 'number' : null}, one.title))));
    const body = h('tbody', {}, rows.map((row) => h('tr', {}, columns.map((one, i) => {
        const cell = one.cell(row);
        return h(i === 0 ? 'th' : 'td', {
            scope: i === 0 ? 'row' : null,
            'data-title': i === 0 ? null : one.title,
            class: one.number ? 'number' : one.whole ? 'whole' : null,
        }, cell === undefined || cell === null ? '' : cell);
    }))));
    return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption},
        h('table', {class: 'cards'}, h('caption', {}, caption), head, body));
}

/* --- links to the sources of a number -------------------------------------------------------- */

/* The address of asv's graph of these choices. */
export function asvAddress(benchmark, choices) {
    const query = Object.entries(choices).filter(([, value]) => value !== null).map(
        ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    return new URL(`trends.html#${encodeURIComponent(benchmark)}?${query.join('&')}`, site).href;
}

export function asvOfPanel(panel, metric, more = {}) {
    return asvAddress(panel.asv.benchmarks[metric],
        {machine: panel.machine, ...panel.asv.choices, ...more});
}

/* The address of the page of a release or commit. */
export const commitAddress = (name) =>
    new URL(`commit.html#${encodeURIComponent(name)}`, site).href;

/* The address of the comparison of {a, b}, with further choices. */
export function compareAddress(choices) {
    const address = new URL('landspeed/compare.html', site);
    address.search = new URLSearchParams(choices);
    return address.href;
}

/* The command that shows the runs of a point. */
export function showCommand(panel, {version = '*', variant = '*', clients = '*'} = {}) {
    const target = variant === '*' ? version : `${version}:${variant}`;
    const level = clients === '*' ? '*' : `c${clients}`;
    const parts = [target, panel.mode, panel.protocol, panel.scale, level, panel.profile];
    if (panel.buffers) {
        parts.push(panel.buffers);
    }
    return `landspeed show '${parts.join('/').replaceAll("'", "'\\''")}'`;
}

/* The links below a plot: asv's trend, the runs, and the command that shows them. */
export function sources(panel, metric, {x, clients, variant} = {}) {
    const axes = variant && panel.asv.axes[variant];
    const more = {
        ...(axes || {}),
        ...(clients ? {'p-clients': clients} : {}),
        ...(x ? {'x-axis': x} : {}),
    };
    return h('ul', {class: 'links'},
        h('li', {}, h('a', {href: asvOfPanel(panel, metric, more)}, 'Trend in asv')),
        h('li', {}, h('a', {href: dataAddress(panel.runs_file), download: ''},
            `All ${count(panel.runs, 'run')} (CSV)`)),
        h('li', {}, h('a', {href: dataAddress(panel.file)}, 'Data (JSON)')),
        h('li', {}, h('code', {}, showCommand(panel, {variant: variant || '*', clients}))));
}

/* --- pages ---------------------------------------------------------------------------------- */

/* Fill the page by draw(index, place); show an error if data are missing. */
export async function run(draw) {
    const place = document.getElementById('view');
    try {
        const index = await load('index.json');
        await draw(index, place);
    } catch (error) {
        place.replaceChildren(h('p', {class: 'note', role: 'alert'},
            `This page could not be drawn: ${error.message}`));
        throw error;
    }
}

/* Replace the content of *place*; keep the focus, and keep open what was open. */
export function put(place, ...children) {
    const key = document.activeElement?.dataset?.key;
    const open = [...place.querySelectorAll('details[open][data-key]')].map((one) => one.dataset.key);
    place.replaceChildren(...children.filter(Boolean));
    for (const one of place.querySelectorAll('details[data-key]')) {
        one.open = open.includes(one.dataset.key);
    }
    if (key) {
        place.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
    }
}

export function nothing(place, words) {
    place.replaceChildren(h('p', {class: 'note'}, words));
}
