"""Chromium by playwright-core: one browser, any number of tabs, driven line by line from Python."""

import json
import select

from .tools import spawn_node, tool

DRIVER = """
const {chromium} = require('playwright-core');
const readline = require('readline');
(async () => {
    const browser = await chromium.launch({executablePath: process.argv[1], headless: true, args: [
        '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
        '--disable-component-update', '--disable-sync']});
    const context = await browser.newContext({ignoreHTTPSErrors: true});
    const tabs = [];
    const act = {
        async open() { tabs.push(await context.newPage()); return tabs.length - 1; },
        async go(tab, url, within) { await tabs[tab].goto(url, {timeout: within}); return true; },
        async run(tab, script) { return await tabs[tab].evaluate(script); },
        async close(tab) { await tabs[tab].close(); return true; },
        async quit() { await browser.close(); return true; },
    };
    for await (const line of readline.createInterface({input: process.stdin})) {
        const [name, ...args] = JSON.parse(line);
        try {
            console.log(JSON.stringify({value: await act[name](...args) ?? null}));
        } catch (e) {
            console.log(JSON.stringify({error: String(e)}));
        }
        if (name === 'quit') break;
    }
})();
"""


class BrowserError(AssertionError):
    """What the page or the browser said went wrong."""


class Browser:
    def __init__(self):
        import subprocess
        self.process = spawn_node(DRIVER, tool("chromium"), stdin=subprocess.PIPE)

    def act(self, *what, within_s=30):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], within_s)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.process.kill()
            raise BrowserError(f"the browser does not answer {what[:2]}: {self.process.stderr.read()[-2000:]}")
        told = json.loads(line)
        if "error" in told:
            raise BrowserError(told["error"])
        return told["value"]

    def tab(self):
        return Tab(self, self.act("open"))

    def close(self):
        try:
            self.act("quit")
        finally:
            self.process.kill()
            self.process.communicate()


class Tab:
    def __init__(self, browser, number):
        self.browser, self.number = browser, number

    def go(self, url, within_ms=10000):
        self.browser.act("go", self.number, url, within_ms)
        return self

    def run(self, script):
        """The value of an expression in the page."""
        return self.browser.act("run", self.number, script)

    def follow(self, url, name="feed"):
        """Opens an EventSource; what it hears gathers in the page."""
        self.run("""(() => {
            const w = window.%s = {deltas: [], cursors: [], byes: 0, opens: 0, errors: 0, last: null};
            const es = w.source = new EventSource(%s);
            es.onopen = () => w.opens++;
            es.onerror = () => w.errors++;
            es.onmessage = m => { w.deltas.push(JSON.parse(m.data)); w.last = m.lastEventId; };
            es.addEventListener('cursor', m => w.cursors.push(m.lastEventId));
            es.addEventListener('bye', () => w.byes++);
        })()""" % (name, json.dumps(url)))

    def heard(self, name="feed"):
        """{deltas, cursors, byes, opens, errors, last, state}"""
        return json.loads(self.run(f"JSON.stringify({{...window.{name}, source: undefined, state: window.{name}.source.readyState}})"))

    def close(self):
        self.browser.act("close", self.number)
