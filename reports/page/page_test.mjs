// Opens the pages of example_pages.cpp in Chromium: no console message, no request, charts drawn, sorting and axes by
// keyboard, hostile strings as text, nothing wider than a phone, and axe-core's rules in light and dark. axe-core
// comes from npm; where it cannot be had, everything else is tested and that is said.
//
//   node page_test.mjs CHROMIUM EXAMPLE_PAGES FOLDER [--shots]
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Browser } from './browser.mjs';

const axeVersion = '4.10.3';
const [chromium, examplePages, folder, shots] = process.argv.slice(2);
mkdirSync(folder, {recursive: true});
execFileSync(examplePages, [folder]);
if (readFileSync(join(folder, 'stored.html'), 'utf8').includes('built without Chart.js')) {
  console.log('skipped: smemtune was built without Chart.js (libjs-chart.js)');
  process.exit(77);
}

const axe = () => {
  const file = join(folder, 'node_modules', 'axe-core', 'axe.min.js');
  if (!existsSync(file)) {
    try {
      execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, `axe-core@${axeVersion}`],
        {stdio: 'ignore', timeout: 60000});
    } catch {
      return null;
    }
  }
  return readFileSync(file, 'utf8');
};
const checker = axe();
if (!checker) console.log(`not tested: accessibility, as npm gives no axe-core ${axeVersion} here`);

const browser = new Browser(chromium);
const url = name => `file://${resolve(folder, name)}.html`;
const focusOn = expression => browser.evaluate(`(${expression}).focus()`);

// Opens those whose summary is meant, and waits until their tables are there.
const openDetails = `(async meant => {
  document.querySelectorAll('details').forEach(one => { one.open = one.open || meant(one.firstChild); });
  await new Promise(resolve => setTimeout(resolve, 100));
})`;

const tests = {
  'each page is drawn without a message or a request': async () => {
    for (const [name, charts] of [['stored', 15], ['dry', 4], ['versions', 2]]) {
      await browser.open(url(name));
      assert.deepEqual(browser.complaints(), [], name);
      assert.equal(await browser.evaluate('document.documentElement.dataset.drawn'), String(charts), name);
      assert.equal(await browser.evaluate('charts.every(one => one.drawn.data.datasets.every(set => set.data.length > 0))'), true, name);
    }
  },
  'what is stored stays text': async () => {
    await browser.open(url('stored'));
    assert.equal(await browser.evaluate('document.title'), 'gemm - smemtune');
    assert.equal(await browser.evaluate('document.querySelectorAll("img").length'), 0);
    assert.match(await browser.evaluate('document.body.textContent'), /<\/script><img src=x onerror/);
  },
  'a table sorts by keyboard': async () => {
    await browser.open(url('stored'));
    await browser.evaluate(`${openDetails}(one => one.textContent.startsWith("Every configuration"))`);
    const places = 'const table = [...document.querySelectorAll("table")].find(t => t.caption.textContent.startsWith("Configurations by time"));';
    const first = `(() => { ${places} return table.rows[1].cells[0].textContent; })()`;
    assert.equal(await browser.evaluate(first), '1');
    await focusOn(`(() => { ${places} return table.querySelector("th button"); })()`);
    await browser.press('Enter');
    await browser.press('Enter');
    assert.notEqual(await browser.evaluate(first), '1');
    assert.equal(await browser.evaluate(`(() => { ${places} return table.querySelector("th").getAttribute("aria-sort"); })()`), 'descending');
    const before = await browser.evaluate('document.activeElement.textContent');
    await browser.press('Tab');
    assert.notEqual(await browser.evaluate('document.activeElement.textContent'), before, 'Tab goes to the next heading');
  },
  'the axes of the heat map are chosen by keyboard': async () => {
    await browser.open(url('stored'));
    const caption = 'document.querySelector("[aria-label=\\"Heat map\\"] caption").textContent';
    const before = await browser.evaluate(caption);
    await focusOn('[...document.querySelectorAll("label")].find(l => l.firstChild.textContent === "Rows").querySelector("select")');
    await browser.press('ArrowDown');
    const moved = await browser.evaluate(caption);
    if (moved === before) await browser.press('ArrowUp');
    assert.notEqual(await browser.evaluate(caption), before);
  },
  'another kernel is chosen by keyboard and keeps its charts': async () => {
    await browser.open(url('stored'));
    const before = await browser.evaluate('document.documentElement.dataset.drawn');
    await focusOn('[...document.querySelectorAll("label")].find(l => l.firstChild.textContent === "Kernel").querySelector("select")');
    await browser.press('ArrowDown');
    await browser.press('ArrowUp');
    assert.match(await browser.evaluate('document.querySelector("[aria-label=\\"Heat map\\"] caption").textContent'), /naive|tiled/);
    assert.equal(await browser.evaluate('document.documentElement.dataset.drawn'), before);
    assert.deepEqual(browser.complaints(), []);
  },
  'nothing is wider than a phone': async () => {
    for (const name of ['stored', 'dry', 'versions']) {
      await browser.open(url(name), {width: 360, height: 740});
      assert.ok(await browser.evaluate('document.documentElement.scrollWidth') <= 360, name);
    }
  },
};
if (checker) {
  tests['axe finds nothing, in light and dark'] = async () => {
    for (const name of ['stored', 'dry', 'versions']) {
      for (const dark of [false, true]) {
        await browser.open(url(name), {dark});
        await browser.evaluate(`${openDetails}(() => true)`);
        await browser.evaluate(`${checker}; undefined`);
        const found = await browser.evaluate('axe.run().then(r => r.violations.map(v => `${v.id}: ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].failureSummary}`))');
        assert.deepEqual(found, [], `${name}, ${dark ? 'dark' : 'light'}`);
      }
    }
  };
}

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`ok: ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED: ${name}\n${error.stack}`);
  }
}
if (shots) {
  for (const name of ['stored', 'dry', 'versions']) {
    for (const [look, options] of [['light', {}], ['dark', {dark: true}], ['phone', {width: 360, height: 740}]]) {
      await browser.open(url(name), options);
      writeFileSync(join(folder, `${name}_${look}.png`), await browser.screenshot());
    }
  }
  const {data} = await browser.open(url('stored')).then(() => browser.call('Page.printToPDF', {printBackground: false}));
  writeFileSync(join(folder, 'stored.pdf'), Buffer.from(data, 'base64'));
}
await browser.close();
process.exit(failed ? 1 : 0);
