/* Search all measured versions by name, commit, subject or author. */

import {
    asked, commitAddress, compareAddress, count, h, load, nothing, run, put,
} from './lib.js';

const MOST = 100;

run(async function draw(index, place) {
    const query = (asked('q') || '').trim();
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const lists = await Promise.all(index.searches.map((name) => load(`search/${name}.json`)));
    const all = lists.flat();
    const found = words.length ? all.filter((one) => matches(one, words)) : [];
    const {rows} = await load('changes.json');
    if (!words.length) {
        put(place,
            h('p', {}, `${count(all.length, 'version')} measured. The latest:`),
            ...latest(all).map((one) => entry(one, rows)));
        return;
    }
    if (!found.length) {
        nothing(place, `No measured version matches “${query}”. `
            + 'To measure one: landspeed run REF --preset quick');
        return;
    }
    put(place,
        h('p', {role: 'status'}, `${count(found.length, 'version')} for “${query}”`
            + `${found.length > MOST ? `, the newest ${MOST}` : ''}.`),
        ...latest(found, MOST).map((one) => entry(one, rows)));
});

const latest = (all, most = 20) => [...all].sort(
    (a, b) => b.date.localeCompare(a.date)).slice(0, most);

/* Every word must occur; a word also matches the start of the commit's hash. */
function matches(one, words) {
    const text = [one.name, one.version, one.subject, one.author, one.line, one.date]
        .filter(Boolean).join('\n').toLowerCase();
    return words.every((word) => text.includes(word) || (one.commit || '').startsWith(word));
}

function entry(one, rows) {
    const title = one.commit ? one.name : one.name.startsWith('@') ? one.name : `PostgreSQL ${one.name}`;
    const changed = rows.filter((row) => row.after.name === one.name
        || (one.commit && row.state === 'bisected' && row.bisection.culprit.ref === one.commit))
        .filter((row) => row.current);
    const facts = [one.date, one.line, one.version, `${count(one.runs, 'run')}`,
        one.variants.join(', '), one.machines.join(', ')].filter(Boolean);
    return h('article', {class: 'found'},
        h('h2', {}, h('a', {href: commitAddress(one.commit || one.name),
            class: one.commit ? 'mono' : null}, title), one.subject ? ` ${one.subject}` : null),
        one.author ? h('p', {}, one.author) : null,
        h('p', {class: 'small quiet'}, facts.join(' · ')),
        h('p', {class: 'small'}, one.before
            ? h('a', {href: compareAddress({machine: one.machines[0], a: one.before, b: one.name})},
                `Compare with ${one.before}, measured before it`) : null,
        changed.length ? ` ${count(changed.length, 'changepoint')} here: `
            + [...new Set(changed.map((row) => row.state))].join(', ') : null));
}
