/* On every page: the theme switch, the list of pages on a phone, and the current search query. */

const ORDER = ['system', 'light', 'dark'];
const SIGNS = {system: '◐', light: '☀', dark: '☾'};
const WORDS = {system: 'system', light: 'light', dark: 'dark'};

const root = document.documentElement;
const button = document.getElementById('theme');

function current() {
    return root.dataset.theme || 'system';
}

function show() {
    button.textContent = SIGNS[current()];
    button.setAttribute('aria-label', `Theme: ${WORDS[current()]}. Change it.`);
    button.title = `Theme: ${WORDS[current()]}`;
}

button.addEventListener('click', () => {
    const next = ORDER[(ORDER.indexOf(current()) + 1) % ORDER.length];
    if (next === 'system') {
        delete root.dataset.theme;
    } else {
        root.dataset.theme = next;
    }
    try {
        localStorage.setItem('landspeed-theme', next);
    } catch (error) { /* The choice is not stored. */ }
    show();
    document.dispatchEvent(new CustomEvent('colours'));
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    document.dispatchEvent(new CustomEvent('colours'));
});
show();

/* A phone shows the list of pages when it is asked for; without this script it is always shown. */
const menu = document.getElementById('menu');
const pages = document.getElementById('pages');
function toggle() {
    pages.toggleAttribute('data-closed');
    menu.setAttribute('aria-expanded', String(!pages.hasAttribute('data-closed')));
}
menu.addEventListener('click', toggle);
toggle();

const asked = new URLSearchParams(location.search).get('q');
if (asked !== null) {
    document.querySelector('.find input').value = asked;
}
