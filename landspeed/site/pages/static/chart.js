/* Plots. uPlot draws axes and handles scales and the cursor; means, intervals and runs are drawn
   here. */

import {h, svg, number, interval} from './lib.js';

const uPlot = window.uPlot;

/* Distinct in light and dark, and with most kinds of colour blindness (after Okabe and Ito). */
const LIGHT = ['#336791', '#d55e00', '#00805f', '#a3478c', '#8a6d00', '#2b9bd1', '#5b5bd6', '#6b6b6b'];
const DARK = ['#6fb1e4', '#ff9147', '#3fc49a', '#e08cc8', '#e2c044', '#9ddcff', '#a6a6ff', '#b9b9b9'];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

function isDark() {
    return getComputedStyle(document.documentElement).colorScheme === 'dark';
}

function ink(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* Plots are painted again when the theme changes. */
const painted = new Map();

function repaint(element, paint) {
    painted.set(element, paint);
    /* Forget plots that are no longer on the page. */
    requestAnimationFrame(() => [...painted.keys()].filter((one) => !one.isConnected).forEach(
        (one) => painted.delete(one)));
}

document.addEventListener('colours', () => painted.forEach((paint) => paint()));

const colour = (place) => (isDark() ? DARK : LIGHT)[place % LIGHT.length];
const dash = (place) => DASHES[Math.floor(place / LIGHT.length) % DASHES.length];

/* A plot and its legend.

   x: {kind: 'category', values, labels} or {kind: 'log2', values} (numbers)
   series: [{label, points: [{x, mean, low, high, values, told}], line, place}]
     x is one of x.values; told is the text of the tooltip
   y: {label, zero, form}
*/
export function chart({label, x, y, series, height = 340, legend = true, marker = null}) {
    const frame = h('div', {class: 'plot', tabindex: '0', role: 'img', 'aria-label':
        `${label}. Use the arrow keys to move between points; the table below lists all of them.`});
    const tip = h('div', {class: 'tip', hidden: true});
    const spoken = h('div', {class: 'unseen', 'aria-live': 'polite'});
    const hidden = new Set();
    const state = {x, y, series, hidden, marker, at: null, plot: null};
    const buttons = series.map((one, i) => legendButton(one, i, hidden, () => redraw(state)));
    const figure = h('div', {}, frame, spoken,
        legend && series.length > 1
            ? h('ul', {class: 'legend', 'aria-label': 'Lines'}, buttons.map((b) => h('li', {}, b)))
            : null);
    frame.append(tip);
    frame.addEventListener('keydown', (event) => walk(event, state, frame, tip, spoken));
    frame.addEventListener('blur', () => { state.at = null; tip.hidden = true; });
    const make = () => {
        if (!frame.isConnected) {
            return;
        }
        if (state.plot) {
            state.plot.destroy();
        }
        paintSwatches(series, buttons);
        state.plot = new uPlot(optionsOf(state, frame, tip, height), dataOf(state), frame);
        frame.plot = state.plot;
    };
    new ResizeObserver(() => {
        if (!state.plot) {
            make();
        } else if (Math.abs(state.plot.width - frame.clientWidth) > 1) {
            make();
        }
    }).observe(frame);
    repaint(frame, make);
    return figure;
}

function legendButton(one, i, hidden, redrawn) {
    const button = h('button', {type: 'button', 'aria-pressed': 'true', onclick: () => {
        const isShown = hidden.has(i);
        if (isShown) {
            hidden.delete(i);
        } else {
            hidden.add(i);
        }
        button.setAttribute('aria-pressed', String(isShown));
        redrawn();
    }}, swatch(), one.label);
    return button;
}

function swatch() {
    return svg('svg', {class: 'swatch', viewBox: '0 0 18 12', 'aria-hidden': 'true'},
        svg('line', {x1: 0, y1: 6, x2: 18, y2: 6, 'stroke-width': 2}),
        svg('circle', {cx: 9, cy: 6, r: 3.5}));
}

function paintSwatches(series, buttons) {
    series.forEach((one, i) => {
        const [line, dot] = buttons[i].querySelectorAll('line, circle');
        line.setAttribute('stroke', colour(one.place ?? i));
        line.setAttribute('stroke-dasharray', dash(one.place ?? i).map((part) => part / 2).join(' '));
        dot.setAttribute('fill', colour(one.place ?? i));
    });
}

/* A legend for several plots at once: [{label, place}]. */
export function keyTo(lines) {
    const items = lines.map((one) => h('li', {}, swatch(), ` ${one.label}`));
    const paint = () => paintSwatches(lines, items);
    const list = h('ul', {class: 'legend key', 'aria-label': 'Lines'}, items);
    paint();
    repaint(list, paint);
    return list;
}

const position = (state, value) => (state.x.kind === 'category'
    ? state.x.values.indexOf(value) : value);

function dataOf(state) {
    const xs = state.x.values.map((value) => position(state, value));
    return [xs, ...state.series.map((one) => state.x.values.map((value) => {
        const point = one.points.find((p) => p.x === value);
        return point ? point.mean : null;
    }))];
}

function extent(state) {
    let low = Infinity;
    let high = -Infinity;
    state.series.forEach((one, i) => {
        if (state.hidden.has(i)) {
            return;
        }
        for (const point of one.points) {
            /* The interval of two or three runs may be much wider than the runs. */
            const ends = [point.mean, ...(point.values || []), ...within(point)];
            low = Math.min(low, ...ends);
            high = Math.max(high, ...ends);
        }
    });
    if (low === Infinity) {
        return [0, 1];
    }
    const pad = (high - low || Math.abs(high) || 1) * 0.06;
    return state.y.zero && low >= 0 ? [0, high + (high || 1) * 0.05] : [low - pad, high + pad];
}

function within(point) {
    if (point.low === undefined) {
        return [];
    }
    const values = [...(point.values || []), point.mean];
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const reach = Math.max(most - least, Math.abs(point.mean) * 0.1);
    return [Math.max(point.low, least - reach), Math.min(point.high, most + reach)];
}

function optionsOf(state, frame, tip, height) {
    const isCategory = state.x.kind === 'category';
    const values = state.x.values;
    const size = {width: Math.max(200, frame.clientWidth), height};
    const labels = (state.x.labels || values).map(String);
    const longest = Math.max(...labels.map((label) => label.length));
    const room = size.width / Math.max(1, values.length);
    const turned = isCategory && longest * 7.5 > room - 6;
    const every = isCategory ? Math.max(1, Math.ceil((turned ? 19 : longest * 7.5) / room)) : 1;
    const font = `12px ${ink('--font')}`;
    const axis = {stroke: ink('--quiet'), font, ticks: {stroke: ink('--line'), width: 1}};
    return {
        ...size,
        legend: {show: false},
        cursor: {
            drag: {x: false, y: false},
            points: {show: false},
            x: false,
            y: false,
        },
        scales: {
            x: isCategory
                ? {time: false, range: () => [-0.6, values.length - 0.4]}
                : {time: false, distr: 3, log: 2, range: () => [values[0] / 1.25,
                    values[values.length - 1] * 1.25]},
            y: {range: () => extent(state)},
        },
        axes: [
            {
                ...axis,
                grid: {show: false},
                splits: () => values.map((value) => position(state, value)),
                filter: (plot, splits) => splits,
                values: (plot, splits) => splits.map((split, i) => {
                    const from = isCategory ? values.length - 1 - i : i;
                    return from % every ? '' : isCategory ? labels[split] : String(split);
                }),
                rotate: turned ? 50 : 0,
                size: turned ? Math.min(120, 26 + longest * 6) : 34,
            },
            {
                ...axis,
                grid: {stroke: ink('--line'), width: 1},
                values: (plot, splits) => splits.map((split) => (split === null ? ''
                    : (state.y.form || number)(split))),
                size: (plot, texts) => 16 + 7.2 * Math.max(3, ...(texts || []).map(
                    (text) => String(text || '').length)),
            },
        ],
        series: [{}, ...state.series.map((one) => ({label: one.label, paths: () => null,
            points: {show: false}}))],
        hooks: {
            draw: [(plot) => draw(plot, state)],
            setCursor: [(plot) => hover(plot, state, tip)],
        },
    };
}

/* The x position of a point; several series at one category stand side by side. */
function across(plot, state, one, value, onCanvas) {
    const middle = plot.valToPos(position(state, value), 'x', onCanvas);
    if (state.x.kind !== 'category') {
        return middle;
    }
    const shown = state.series.filter((other, i) => !state.hidden.has(i)
        && other.points.some((point) => point.x === value));
    const room = Math.abs(plot.valToPos(1, 'x', onCanvas) - plot.valToPos(0, 'x', onCanvas));
    const step = Math.min(14 * (onCanvas ? devicePixelRatio : 1), 0.7 * room / shown.length);
    return middle + (shown.indexOf(one) - (shown.length - 1) / 2) * step;
}

function draw(plot, state) {
    const paper = plot.ctx;
    const ratio = devicePixelRatio;
    paper.save();
    paper.beginPath();
    paper.rect(plot.bbox.left, plot.bbox.top - 4, plot.bbox.width, plot.bbox.height + 8);
    paper.clip();
    if (state.marker !== null) {
        const level = plot.valToPos(state.marker, 'y', true);
        paper.strokeStyle = ink('--quiet');
        paper.lineWidth = ratio;
        stroke(paper, [[plot.bbox.left, level], [plot.bbox.left + plot.bbox.width, level]]);
    }
    state.series.forEach((one, i) => {
        if (!state.hidden.has(i)) {
            drawSeries(plot, state, one, one.place ?? i, paper, ratio);
        }
    });
    paper.restore();
}

function drawSeries(plot, state, one, place, paper, ratio) {
    const tone = colour(place);
    const up = (value) => plot.valToPos(value, 'y', true);
    const placed = state.x.values.map((value) => one.points.find((p) => p.x === value))
        .filter(Boolean).map((point) => ({point, x: across(plot, state, one, point.x, true)}));
    paper.strokeStyle = tone;
    paper.fillStyle = tone;
    if (placed.length > 1) {
        /* There is nothing between categories; the line only guides the eye. */
        paper.globalAlpha = one.line ? 1 : 0.3;
        paper.lineWidth = (one.line ? 2 : 1.25) * ratio;
        paper.setLineDash(dash(place).map((part) => part * ratio));
        stroke(paper, placed.map(({point, x}) => [x, up(point.mean)]));
        paper.setLineDash([]);
        paper.globalAlpha = 1;
    }
    for (const {point, x} of placed) {
        paper.globalAlpha = 0.45;
        paper.lineWidth = ratio;
        for (const value of one.line ? [] : point.values || []) {
            stroke(paper, [[x + 5 * ratio, up(value)], [x + 10 * ratio, up(value)]]);
        }
        paper.globalAlpha = 1;
        if (point.low !== undefined) {
            const [low, high] = [up(point.low), up(point.high)];
            paper.lineWidth = 1.75 * ratio;
            stroke(paper, [[x, low], [x, high]]);
            for (const end of [low, high]) {
                stroke(paper, [[x - 4 * ratio, end], [x + 4 * ratio, end]]);
            }
        }
        paper.beginPath();
        paper.arc(x, up(point.mean), (state.at === point ? 6 : 4) * ratio, 0, 2 * Math.PI);
        paper.fillStyle = point.hollow ? ink('--page') : tone;
        paper.fill();
        paper.lineWidth = 1.75 * ratio;
        paper.stroke();
        paper.fillStyle = tone;
    }
}

function stroke(paper, points) {
    paper.beginPath();
    points.forEach(([x, y], i) => (i ? paper.lineTo(x, y) : paper.moveTo(x, y)));
    paper.stroke();
}

function redraw(state) {
    if (state.plot) {
        state.plot.redraw(true, true);
    }
}

/* All visible points with their positions, in keyboard order. */
function placedPoints(plot, state) {
    const found = [];
    state.series.forEach((one, i) => {
        for (const value of state.hidden.has(i) ? [] : state.x.values) {
            const point = one.points.find((p) => p.x === value);
            if (point) {
                found.push({one, point, x: across(plot, state, one, value, false),
                    y: plot.valToPos(point.mean, 'y', false)});
            }
        }
    });
    return found;
}

function hover(plot, state, tip) {
    const {left, top} = plot.cursor;
    if (left === undefined || left < 0) {
        if (document.activeElement !== tip.parentElement || state.at === null) {
            tip.hidden = true;
        }
        return;
    }
    let nearest = null;
    let least = 30 ** 2;
    for (const one of placedPoints(plot, state)) {
        const distance = (one.x - left) ** 2 + ((one.y - top) / 2) ** 2;
        if (distance < least) {
            [nearest, least] = [one, distance];
        }
    }
    tell(plot, state, tip, nearest);
}

function tell(plot, state, tip, placed) {
    const before = state.at;
    state.at = placed ? placed.point : null;
    tip.hidden = !placed;
    if (placed) {
        tip.replaceChildren(h('b', {}, placed.one.label), placed.point.told);
        const over = plot.over;
        const left = over.offsetLeft + placed.x;
        const wide = tip.offsetWidth;
        const space = tip.parentElement.clientWidth;
        const x = left + 14 + wide > space ? Math.max(0, left - wide - 14) : left + 14;
        tip.style.left = `${x}px`;
        tip.style.top = `${Math.max(0, over.offsetTop + placed.y - 20)}px`;
    }
    if (before !== state.at) {
        plot.redraw(false, false);
    }
}

const STEPS = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, Home: 0, End: 0};

function walk(event, state, frame, tip, spoken) {
    if (!(event.key in STEPS) || !state.plot) {
        return;
    }
    event.preventDefault();
    const all = placedPoints(state.plot, state);
    if (!all.length) {
        return;
    }
    const at = all.findIndex((one) => one.point === state.at);
    const last = all.length - 1;
    const next = event.key === 'Home' ? 0 : event.key === 'End' ? last
        : at < 0 ? 0 : Math.min(last, Math.max(0, at + STEPS[event.key]));
    tell(state.plot, state, tip, all[next]);
    spoken.textContent = `${all[next].one.label}: ${all[next].point.told}`;
}

/* The text of a point's tooltip. */
export function told(where, numbers, unit) {
    return [
        where,
        `${number(numbers.mean)} ${unit}`,
        numbers.n > 1 ? `95 %: ${interval(numbers)}` : 'one run, no interval',
        `${numbers.n} runs, ${number(numbers.min)} … ${number(numbers.max)}`,
    ].slice(0, numbers.n > 1 ? 4 : 3).join('\n');
}
