'use strict';

/* Before anything is painted: the colours that were chosen here last, else the system's. */
try {
    const chosen = localStorage.getItem('landspeed-theme');
    if (chosen === 'light' || chosen === 'dark') {
        document.documentElement.dataset.theme = chosen;
    }
} catch (error) { /* no storage: the system's colours */ }
