/* Versions as categories: one dot with its interval for each build. */

import {
    asked, better, change, chips, chooses, count, form, h, interval, nothing, number, oneOf, options,
    put, run, select, sources, spellMetric, table,
} from './lib.js';
import {chart, told} from './chart.js';
import {
    FEW, called, clientsControl, controls, epochOf, foremost, loadPanel, metricControl, narrow,
    usualBuild, words, zeroControl,
} from './choice.js';
import {ratioOf, relative} from './statistics.js';

run(async function draw(index, place) {
    if (!index.panels.length) {
        nothing(place, 'Nothing is measured yet.');
        return;
    }
    const again = () => draw(index, place);
    const {chosen, fields, panels} = narrow(index.panels);
    const panel = await loadPanel(panels[0]);
    const metric = oneOf(asked('metric'), panel.metrics,
        panel.metrics.includes('tps') ? 'tps' : panel.metrics[0]);
    const clients = Number(oneOf(asked('clients'), panel.clients.map(String)));
    const variants = (asked('variants') || '').split(',').filter((v) => panel.variants.includes(v));
    const builds = variants.length ? variants : [usualBuild(panel.variants)];
    const which = oneOf(asked('versions'), ['foremost', 'releases', 'all'],
        panel.categories.length > FEW ? 'foremost' : 'all');
    const categories = {
        foremost: foremost(panel.categories),
        releases: panel.categories.filter((one) => one.kind !== 'commit'),
        all: panel.categories,
    }[which];
    const base = oneOf(asked('base'), ['', ...categories.map((one) => one.name)]);
    const zero = asked('zero') !== 'no';

    const points = panel.points.filter((p) => p.clients === clients && p[metric]);
    const view = {index, panel, metric, clients, builds, categories, base, zero, points};
    put(place,
        form(
            controls(fields, chosen, again),
            metricControl(index, panel.metrics, metric, again),
            clientsControl(panel, clients, again),
            select('Versions', [
                {value: 'foremost', text: 'newest of each major version'},
                {value: 'releases', text: 'all releases'},
                {value: 'all', text: 'all and newest commits'},
            ], which, chooses('versions', again)),
            select('Show', [{value: '', text: 'as measured'}, ...categories.map(
                (one) => ({value: one.name, text: `change against ${called(one)}`}))], base,
            chooses('base', again)),
            base ? null : zeroControl('start the y axis at zero', zero, again),
            chips('Builds', options(panel.variants), builds, chooses('variants', again))),
        figure(view),
        h('details', {'data-key': 'table'},
            h('summary', {'data-key': 'numbers'}, 'The numbers as a table'), numbersTable(view)));
});

function figure(view) {
    const {index, panel, metric, clients, builds, categories, base, zero, points} = view;
    const unit = index.metrics[metric].unit;
    const names = new Set(categories.map((one) => one.name));
    const newest = newestEpoch(panel, points);
    let crossed = 0;
    const usual = usualBuild(panel.variants);
    const colours = [usual, ...panel.variants.filter((one) => one !== usual)];
    const series = builds.map((variant) => {
        const own = points.filter((p) => p.variant === variant && names.has(p.version));
        const from = own.find((p) => p.version === base);
        const drawn = own.map((p) => {
            const numbers = p[metric];
            const hollow = epochOf(panel, p) !== newest;
            crossed += hollow ? 1 : 0;
            const x = p.version;
            const lines = told(`${p.version}, ${count(clients, 'client')}`, numbers, unit);
            if (!base) {
                return {...numbers, x, hollow, told: lines};
            }
            const isComparable = from && epochOf(panel, from) === epochOf(panel, p);
            const moved = isComparable && relative(from[metric], numbers, index.t_975);
            return moved ? {...moved, x, hollow, told: `${lines}\n${change(1 + moved.mean / 100)}`}
                : null;
        }).filter(Boolean);
        return {label: variant, points: drawn, place: colours.indexOf(variant)};
    });
    const title = `${spellMetric(index, metric)}${base ? `, change against ${base}` : ''}`;
    return h('figure', {},
        h('p', {class: 'plot-title'}, title, ' ', h('span', {},
            `· ${better(index, metric)} · ${words(panel)} · ${count(clients, 'client')}`)),
        chart({
            label: `${title} of ${categories.length} versions`,
            x: {kind: 'category', values: [...names], labels: categories.map(called)},
            y: {zero: base ? false : zero,
                form: base ? (value) => `${value > 0 ? '+' : ''}${number(value)} %` : number},
            series,
            marker: base ? 0 : null,
        }),
        h('figcaption', {}, base
            ? 'Ratios of geometric means with 95 % Welch intervals on logarithms. Versions that '
              + 'were measured in different epochs of the machine have no ratio.'
            : index.method,
        crossed ? ' Hollow dots are from an earlier epoch of the machine (another kernel, '
            + 'processor, microcode or C library): compare them with care.' : ''),
        sources(panel, metric, {clients, variant: builds.length === 1 ? builds[0] : undefined}));
}

function newestEpoch(panel, points) {
    const last = points.reduce((a, b) => (a && a.last > b.last ? a : b), null);
    return last ? epochOf(panel, last) : null;
}

function numbersTable({index, panel, metric, builds, categories, points}) {
    const order = new Map(categories.map((one, i) => [one.name, i]));
    const rows = points.filter((p) => order.has(p.version) && builds.includes(p.variant)).sort(
        (a, b) => order.get(a.version) - order.get(b.version)
            || builds.indexOf(a.variant) - builds.indexOf(b.variant));
    const first = new Map();
    for (const row of rows) {
        if (!first.has(row.variant)) {
            first.set(row.variant, row);
        }
    }
    const step = (row) => {
        const from = first.get(row.variant);
        const found = from !== row && epochOf(panel, from) === epochOf(panel, row)
            ? ratioOf(from[metric], row[metric], index.t_975) : null;
        return found ? change(found.ratio) : '';
    };
    return table([
        {title: 'Version', cell: (row) => row.version},
        {title: 'Build', cell: (row) => row.variant},
        {title: `Mean, ${index.metrics[metric].unit}`, number: true, cell: (row) => number(row[metric].mean)},
        {title: '95 % interval', number: true, cell: (row) => interval(row[metric])},
        {title: 'Std. dev.', number: true, cell: (row) => number(row[metric].sd)},
        {title: 'Min', number: true, cell: (row) => number(row[metric].min)},
        {title: 'Median', number: true, cell: (row) => number(row[metric].median)},
        {title: 'Max', number: true, cell: (row) => number(row[metric].max)},
        {title: 'Runs', number: true, cell: (row) => row[metric].n},
        {title: 'Change since the first', number: true, cell: step},
        {title: 'Measured', whole: true, cell: (row) => row.last.slice(0, 10)},
    ], rows, `${spellMetric(index, metric)}, ${words(panel)}`);
}
