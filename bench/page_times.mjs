// How long a report's page takes in Chromium until everything is drawn, and until another kernel is; and what it weighs.
// Beside the time, what its thread computed: that does not depend on what else the machine does.
//
//   node bench/page_times.mjs CHROMIUM build/release/reports/report_example_pages FOLDER
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Browser } from '../reports/page/browser.mjs';

const [chromium, examplePages, folder] = process.argv.slice(2);
const rounds = 7;
const median = values => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const file = join(folder, 'many.html');
const change = `(() => {
  const select = [...document.querySelectorAll('label')].find(l => l.firstChild.textContent === 'Kernel').querySelector('select');
  select.value = [...select.options].map(o => o.value).find(v => v !== select.value);
  const started = performance.now();
  select.dispatchEvent(new Event('change'));
  return performance.now() - started;
})()`;

mkdirSync(folder, {recursive: true});
const browser = new Browser(chromium);
const computed_s = async () => (await browser.call('Performance.getMetrics')).metrics.find(one => one.name === 'TaskDuration').value;
console.log('configurations  page  without data  all drawn (computing)  another kernel');
for (const configurations of [1000, 10000, 30000]) {
  execFileSync(examplePages, [folder, String(configurations)]);
  const page = readFileSync(file, 'utf8');
  const data = page.match(/id="data">([^<]*)</)[1].length;
  const drawn = [], computed = [], changed = [];
  for (let i = 0; i < rounds; ++i) {
    await browser.open(`file://${resolve(file)}`);
    drawn.push(Number(await browser.evaluate('document.documentElement.dataset.drawnMs')));
    await browser.call('Performance.enable', {timeDomain: 'threadTicks'});
    const before = await computed_s();
    await browser.evaluate('show()');
    computed.push(1000 * (await computed_s() - before));
    changed.push(await browser.evaluate(change));
  }
  console.log(`${configurations}  ${page.length} B  ${page.length - data} B  ${median(drawn)} ms (${Math.round(median(computed))} ms)  ${Math.round(median(changed))} ms`);
}
await browser.close();
