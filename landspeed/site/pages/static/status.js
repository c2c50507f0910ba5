/* Status: what the machines do, what failed, how old and how late verdicts are. */

import {
    age, ago, commitAddress, count, h, load, number, put, run, site, statusLine, table, unique,
} from './lib.js';
import {chart} from './chart.js';

const SHOWN = 3;

run(async function draw(index, place) {
    const [{machines, failures}, {rows}] = await Promise.all(
        [load('status.json'), load('changes.json')]);
    const waiting = (state) => rows.filter((row) => row.current && row.state === state).length;
    put(place,
        h('p', {}, statusLine(machines, failures)),
        table([
            {title: 'Machine', cell: (one) => one.name},
            {title: 'Last heard of', cell: (one) => (one.last ? ago(one.last) : 'never')},
            {title: 'Now and next', cell: (one) => queued(one.queue)},
            {title: 'Times', cell: (one) => one.timed.join(', ')},
            {title: 'Counts', cell: (one) => (one.counted ? count(one.counted, 'workload') : '')},
            {title: 'Newest commit', cell: (one) => (one.tips.length ? h('span', {}, one.tips.flatMap((tip) => [
                h('a', {href: commitAddress(tip.name)}, tip.name), ` on ${tip.branch}, ${age(tip.date)} old `])) : '')},
            {title: 'Runs', number: true, cell: (one) => number(one.runs)},
        ], machines, 'Machines'),
        h('h2', {}, 'From push to verdict'),
        delays(machines),
        h('h2', {}, 'Waiting'),
        h('p', {}, `${count(waiting('nominated'), 'changepoint')} to confirm, `
            + `${waiting('confirmed')} to bisect. `,
        h('a', {href: new URL('landspeed/regressions.html', site).href}, 'All changepoints')),
        h('h2', {}, 'Failed builds'),
        failures.length ? table([
            {title: 'Commit or release', cell: (one) => `${one.name} ${one.variant}`},
            {title: 'When', cell: (one) => ago(one.time)},
            {title: 'Why', cell: (one) => one.reason},
        ], failures, 'Sources that did not build, newest first') : h('p', {}, 'None.'));
});

/* What a machine measures now and next, in that order. */
function queued(queue) {
    if (!queue?.due) {
        return 'nothing';
    }
    const names = queue.targets.slice(0, SHOWN).map((one) => one.replace(/:bs8$/, ''));
    const rest = queue.due - names.length;
    return `${names.join(', ')}${rest && names.length ? ' and ' : ''}${rest ? `${number(rest)} more` : ''}, `
        + `as planned ${ago(queue.time)}`;
}

function delays(machines) {
    const months = unique(machines.flatMap((one) => one.months.map((month) => month.month))).sort();
    if (!months.length) {
        return h('p', {}, 'No branch has a commit yet that was made after its first measurement.');
    }
    const rows = [...months].reverse().flatMap((month) => machines.flatMap((one) => one.months.filter(
        (other) => other.month === month).map((other) => ({...other, machine: one.name}))));
    return h('div', {},
        months.length > 1 ? trend(machines.filter((one) => one.months.length), months) : null,
        table([
            {title: 'Month', cell: (one) => one.month},
            {title: 'Machine', cell: (one) => one.machine},
            {title: 'Commits', number: true, cell: (one) => one.commits},
            {title: 'Median, hours', number: true, cell: (one) => number(one.median)},
            {title: '95 % within, hours', number: true, cell: (one) => number(one.p95)},
        ], rows, 'Hours from a commit to its first run, of commits made after the first run of their branch'));
}

function trend(machines, months) {
    const lines = machines.flatMap((one) => [['median', 'median'], ['95 %', 'p95']].map(([name, key]) => ({
        label: `${one.name}, ${name}`,
        line: true,
        points: one.months.map((month) => ({x: month.month, mean: month[key],
            told: `${number(month[key])} hours, ${count(month.commits, 'commit')}`})),
    })));
    return chart({
        label: 'Hours from a commit to its first run, by month',
        x: {kind: 'category', values: months},
        y: {label: 'hours', zero: true},
        series: lines,
        height: 220,
    });
}
