// Measures a report's page in Chromium: until what is in view is drawn, until all of it is, and for what people do with it
// then; and what it weighs. In brackets what the page's thread computed: that does not depend on what else the machine does.
//
//   node bench/page_times.mjs CHROMIUM build/release/reports/report_example_pages FOLDER   # planted pages of many sizes
//   node bench/page_times.mjs CHROMIUM PAGE.html...                                        # only until each is drawn
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Browser } from '../reports/page/browser.mjs';

const [chromium, ...rest] = process.argv.slice(2);
const rounds = 7;
const drawn = 'document.documentElement.dataset.drawn';
const mark = name => `performance.getEntriesByName('${name}')[0].startTime`;
const change = label => `(() => {
  const select = [...document.querySelectorAll('label')].find(l => l.firstChild.textContent === '${label}').querySelector('select');
  select.value = [...select.options].map(o => o.value).find(v => v !== select.value);
  select.dispatchEvent(new Event('change'));
})()`;
const table = 'Every configuration, sorted by time: as a table';
const actions = {
  'another kernel': change('Kernel'),
  'another axis': change('Rows'),
  'table of all': `[...document.querySelectorAll('summary')].find(one => one.textContent === '${table}').click()`,
  'sorted': `[...document.querySelectorAll('table')].find(t => t.caption.textContent.startsWith('Configurations by time'))
    .querySelector('th:nth-child(3) button').click()`,
};
const frame = 'new Promise(shown => requestAnimationFrame(() => setTimeout(shown)))';

const browser = new Browser(chromium);
const samples = new Map();
const sample = (name, wall, computed) => samples.set(name, [...(samples.get(name) ?? []), [wall, computed]]);
const median = values => Math.round(values.sort((a, b) => a - b)[Math.floor(values.length / 2)]);

async function load(file) {
  await browser.open(`file://${resolve(file)}`);
  await browser.until(drawn);
  sample('in view', await browser.evaluate(mark('in view')));
  sample('all drawn', await browser.evaluate(mark('drawn')), await browser.computed());
}

async function act() {
  for (const [name, action] of Object.entries(actions)) {
    const before = await browser.computed();
    const wall = await browser.evaluate(`(async () => { const began = performance.now(); ${action}; await ${frame}; return performance.now() - began; })()`);
    sample(name, wall, await browser.computed() - before);
    await browser.until(drawn);
  }
  await browser.evaluate('charts.find(one => one.canvas.ariaLabel.startsWith("Every configuration")).canvas.scrollIntoView({block: "center"})');
  const box = await browser.evaluate('charts.find(one => one.canvas.ariaLabel.startsWith("Every configuration")).canvas.getBoundingClientRect().toJSON()');
  for (let x = 0.1; x < 1; x += 0.1) {
    const [before, began] = [await browser.computed(), performance.now()];
    await browser.call('Input.dispatchMouseEvent', {type: 'mouseMoved', x: box.x + x * box.width, y: box.y + box.height / 2});
    await browser.evaluate(frame);
    sample('pointer moved', performance.now() - began, await browser.computed() - before);
  }
}

async function measure(title, file, isPlanted) {
  samples.clear();
  for (let i = 0; i < rounds; ++i) {
    await load(file);
    if (isPlanted) await act();
  }
  const page = readFileSync(file, 'utf8');
  const data = page.match(/id="data">([^<]*)</)[1].length;
  console.log(`${title}: ${page.length} B, ${page.length - data} B without data`);
  for (const [name, all] of samples) {
    const computed = all[0][1] === undefined ? '' : ` (${median(all.map(one => one[1]))} ms)`;
    console.log(`  ${name}: ${median(all.map(one => one[0]))} ms${computed}`);
  }
}

if (rest[0].endsWith('.html')) {
  for (const file of rest) await measure(file, file, false);
} else {
  const [examplePages, folder] = rest;
  mkdirSync(folder, {recursive: true});
  for (const configurations of [1000, 10000, 30000]) {
    execFileSync(examplePages, [folder, String(configurations)]);
    await measure(`${configurations} configurations`, join(folder, 'many.html'), true);
  }
}
await browser.close();
