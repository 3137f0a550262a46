// Opens the pages of example_pages_test_support.cpp in Chromium: no console message, no request, charts drawn, sorting and axes by
// keyboard, hostile strings as text, what is saved, what is printed, a run that is followed, nothing wider than a phone,
// and axe-core's rules in light and dark. axe-core comes from npm; where it cannot be had, everything else is tested and
// that is said.
//
//   node page_test.mjs CHROMIUM EXAMPLE_PAGES FOLDER [--shots]
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
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
const pages = ['stored', 'hostile', 'live', 'dry', 'versions'];
const url = name => `file://${resolve(folder, name)}.html`;
const open = (name, options) => browser.open(url(name), options).then(() => browser.until('document.documentElement.dataset.drawn'));
const select = label => `[...document.querySelectorAll('label')].find(l => l.firstChild.textContent === '${label}').querySelector('select')`;
const focusOn = expression => browser.evaluate(`(${expression}).focus()`);
// Another value of what is chosen, by the keyboard only.
const chooseAnother = async label => {
  const value = `${select(label)}.value`;
  await focusOn(select(label));
  const before = await browser.evaluate(value);
  await browser.press('ArrowDown');
  if (await browser.evaluate(value) === before) await browser.press('ArrowUp');
  assert.notEqual(await browser.evaluate(value), before, label);
};
const openTables = async () => {
  await browser.evaluate('document.querySelectorAll("details").forEach(one => { one.open = true; })');
  await browser.until('[...document.querySelectorAll("details")].every(one => one.querySelector("table"))');
};
const hostile = /<\/script><img src=x onerror/;

const tests = {
  'each page is drawn without a message or a request': async () => {
    for (const [name, charts] of [['stored', 16], ['hostile', 16], ['dry', 4], ['versions', 2]]) {
      await open(name);
      assert.deepEqual(browser.complaints(), [], name);
      assert.equal(await browser.evaluate('document.documentElement.dataset.drawn'), String(charts), name);
      assert.equal(await browser.evaluate('charts.every(one => one.drawn.data.datasets.every(set => set.data.length > 0))'), true, name);
    }
  },
  'no point lies outside its chart': async () => {
    for (const name of ['stored', 'dry']) {
      await open(name);
      assert.deepEqual(await browser.evaluate(`charts.map(one => one.drawn).filter(drawn => drawn.options.parsing === false
        && drawn.data.datasets.some(set => set.data.some(p => ['x', 'y'].some(axis =>
          p[axis] < drawn.scales[axis].min || p[axis] > drawn.scales[axis].max)))).map(drawn => drawn.canvas.ariaLabel)`), [], name);
    }
  },
  'what is stored stays text': async () => {
    for (const name of ['hostile', 'versions']) {
      await open(name);
      await openTables();
      assert.doesNotMatch(await browser.evaluate('document.title'), /^taken/, name);
      assert.equal(await browser.evaluate('document.querySelectorAll("img").length'), 0, name);
      assert.match(await browser.evaluate('[...document.querySelectorAll(".findings")].map(one => one.textContent).join()'), hostile, name);
      for (const cell of ['td', 'caption', 'option', 'th', 'h2', 'h3', 'pre', 'a', '.legend']) {
        const texts = await browser.evaluate(`[...document.querySelectorAll('${cell}')].map(one => one.textContent).join('\\n')`);
        if (name === 'hostile') assert.match(texts, hostile, cell);
      }
      assert.deepEqual(browser.complaints(), [], name);
    }
  },
  'a table sorts by keyboard': async () => {
    await open('stored');
    await openTables();
    const table = '[...document.querySelectorAll("table")].find(t => t.caption.textContent.startsWith("Configurations by time"))';
    const first = `${table}.rows[1].cells[0].textContent`;
    assert.equal(await browser.evaluate(first), '1');
    await focusOn(`${table}.querySelector("th button")`);
    await browser.press('Enter');
    await browser.press('Enter');
    assert.notEqual(await browser.evaluate(first), '1');
    assert.equal(await browser.evaluate(`${table}.querySelector("th").getAttribute("aria-sort")`), 'descending');
    const before = await browser.evaluate('document.activeElement.textContent');
    await browser.press('Tab');
    assert.notEqual(await browser.evaluate('document.activeElement.textContent'), before, 'Tab goes to the next heading');
  },
  'the axes of the heat map are chosen by keyboard': async () => {
    await open('stored');
    const caption = 'document.querySelector("[aria-label=\\"Heat map\\"] caption").textContent';
    for (const label of ['Rows', 'Columns', 'Color']) {
      const before = await browser.evaluate(caption);
      await chooseAnother(label);
      assert.notEqual(await browser.evaluate(caption), before, label);
    }
  },
  'the facts of two finalists stand beside each other, and others are chosen by keyboard': async () => {
    await open('stored');
    const facts = '[...document.querySelectorAll("table")].find(t => t.caption.textContent.startsWith("First: 1"))';
    assert.match(await browser.evaluate(`${facts}.textContent`), /counter\.dram_read_bytes.*energy\.joules_per_launch.*code\.instructions/);
    const before = await browser.evaluate(`${facts}.textContent`);
    await chooseAnother('Second');
    assert.notEqual(await browser.evaluate(`${facts}.textContent`), before);
  },
  'why it wins, what it takes and how it was before have their parts': async () => {
    await open('stored');
    await openTables();
    const text = await browser.evaluate('document.getElementById("report").textContent');
    for (const part of [/1\.\d+x over the runner-up, /, /pass through DRAM/, /Energy against time/, /on it/, /6\.0 % slower since .*driver 12\.8, now 13\.0/]) assert.match(text, part);
  },
  'another kernel is chosen by keyboard and keeps its charts': async () => {
    await open('stored');
    const before = await browser.evaluate('document.documentElement.dataset.drawn');
    await chooseAnother('Kernel');
    await browser.until('document.documentElement.dataset.drawn');
    assert.equal(await browser.evaluate('document.documentElement.dataset.drawn'), before);
    const kernel = await browser.evaluate(`${select('Kernel')}.selectedOptions[0].text`);
    assert.match(await browser.evaluate('document.querySelector("[aria-label=\\"Heat map\\"] caption").textContent'), new RegExp(` ${kernel}, in per cent:`));
    assert.deepEqual(browser.complaints(), []);
  },
  'parallel coordinates name the values on their axes': async () => {
    await open('stored');
    const [written, values] = await browser.evaluate(`(() => {
      const one = charts.find(one => one.canvas.ariaLabel.startsWith('Parallel coordinates')).drawn, written = [];
      one.ctx.fillText = function(text, ...rest) { written.push(text); CanvasRenderingContext2D.prototype.fillText.call(this, text, ...rest); };
      one.draw();
      return [written, data.parameters.filter(one => one.values.length > 1).flatMap(({name, values}) => [name, values.reduce((a, b) => Number(a) < Number(b) ? a : b)])];
    })()`);
    for (const text of values) assert.ok(written.includes(text), `${text} in ${written}`);
  },
  'what is saved is what is stored': async () => {
    const save = async (name, button) => {
      await open(name);
      return browser.saved(`[...document.querySelectorAll('button')].find(one => one.textContent.includes('${button}'))`, folder);
    };
    const csv = (await save('stored', 'as CSV')).split('\r\n');
    assert.equal(csv.length, 1 + 400 + 1);
    assert.equal(csv[0], '"kernel","ROWS","STAGES","TILE","UNROLL","VEC","status","ms","registers","shared_bytes","occupancy_percent","detail"');
    assert.match(csv[1], /^"(naive|tiled)","\d+","\d+","\d+","\d+","\d+","correct","[\d.]+","\d+","\d+","[\d.]+",""$/);
    assert.match(csv[400], /"compile\/error","","","","","error: identifier ""tid"" is undefined"$/);
    for (const [name, members] of [['stored', ['sections', 'parameters']], ['versions', ['pairs']]]) {
      const data = JSON.parse(await save(name, 'as JSON'));
      assert.deepEqual(data, await browser.evaluate('JSON.parse(document.getElementById("data").textContent)'), name);
      for (const member of members) assert.ok(data[member].length > 0, member);
    }
  },
  'on paper everything is drawn, black on white': async () => {
    await open('stored', {dark: true});
    await browser.evaluate('window.addEventListener("beforeprint", () => { window.onPaper = [charts.every(one => one.drawn), Chart.defaults.color]; })');
    const {data} = await browser.call('Page.printToPDF', {printBackground: false});
    writeFileSync(join(folder, 'stored.pdf'), Buffer.from(data, 'base64'));
    assert.deepEqual(await browser.evaluate('window.onPaper'), [true, '#333']);
    assert.notEqual(await browser.evaluate('Chart.defaults.color'), '#333', 'and on the screen as before');
  },
  'a run that is followed fills the page up until it ends': async () => {
    const live = name => readFileSync(join(folder, name));
    let ended = false;
    const server = createServer((request, response) => {
      if (request.url === '/run/') response.setHeader('Content-Type', 'text/html').end(live('live.html'));
      else if (request.url !== '/run/data/1') response.writeHead(404).end();
      else if (!ended) response.writeHead(204).end(() => { ended = true; });
      else response.setHeader('Content-Type', 'application/json').end(live('live.json'));
    });
    await new Promise(listening => server.listen(0, '127.0.0.1', listening));
    await browser.open(`http://127.0.0.1:${server.address().port}/run/`);
    assert.match(await browser.evaluate('document.querySelector(".live").textContent'), /in progress/);
    await chooseAnother('Color');
    const chosen = await browser.evaluate(`${select('Color')}.value`);
    await browser.until('document.querySelector(".live").textContent.includes("has ended: complete")');
    await browser.until('document.documentElement.dataset.drawn');
    assert.equal(await browser.evaluate('document.documentElement.dataset.drawn'), '16');
    assert.equal(await browser.evaluate(`${select('Color')}.value`), chosen, 'what was chosen is kept');
    assert.equal(await browser.evaluate('document.activeElement.value'), chosen, 'and so is the focus');
    server.close();
  },
  'colors are told apart without red and green, too, and stand out from the ground': async () => {
    const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    // Matrices give the colors that people without red or green cones see (Machado, Oliveira and Fernandes 2009), and all others.
    const eyes = [[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
      [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]];
    const times = (lines, v) => lines.map(line => line[0] * v[0] + line[1] * v[1] + line[2] * v[2]);
    const oklab = v => times([[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]],
      times([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]], v).map(Math.cbrt));
    const luminance = v => 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
    for (const dark of [false, true]) {
      await open('stored', {dark});
      const [ground, ...colors] = (await browser.evaluate('[css("--ground"), ...[...Array(8).keys()].map(color)]'))
        .map(text => [1, 3, 5].map(at => linear(parseInt(text.slice(at, at + 2), 16))));
      colors.forEach((one, n) => {
        const [low, high] = [luminance(one), luminance(ground)].sort((a, b) => a - b);
        assert.ok((high + 0.05) / (low + 0.05) >= 2.5, `${n} on the ground, ${dark ? 'dark' : 'light'}`);
        for (const [m, other] of colors.slice(0, n).entries()) {
          for (const eye of eyes) {
            const [a, b] = [one, other].map(v => oklab(times(eye, v).map(c => Math.max(0, c))));
            assert.ok(Math.hypot(...a.map((x, i) => x - b[i])) > 0.07, `${n} and ${m}, ${dark ? 'dark' : 'light'}`);
          }
        }
      });
    }
  },
  'colors of kernels have a legend': async () => {
    const legends = () => browser.evaluate(`[charts.find(one => one.canvas.ariaLabel.startsWith('Failures by reason')).drawn.options.plugins.legend.display,
      document.querySelectorAll('.legend').length, [...document.querySelectorAll('.legend')].filter(one => ['naive', 'tiled'].every(name => one.textContent.includes(name))).length]`);
    await open('stored');
    assert.deepEqual(await legends(), [true, 2, 1], 'of kernels, and of best and median');
    await open('dry');
    assert.deepEqual(await legends(), [false, 1, 1], 'one kernel failed, two have resources');
  },
  'the best of each problem is left out only where devices side by side show all': async () => {
    await open('stored');
    const rows = count => browser.evaluate(`(() => {
      const kept = data;
      data = {...data, sections: [...Array(${count}).keys()].map(n => ({...data.sections[0], problem: String(n)}))};
      const made = problems();
      data = kept;
      return made && (made.tagName === 'TABLE' ? made : made.querySelector('table')).rows.length - 1;
    })()`);
    assert.equal(await rows(2), null);
    assert.equal(await rows(3), 3);
  },
  'the answer on several devices is that of smemtune compare': async () => {
    await open('stored');
    assert.equal(await browser.evaluate('document.querySelector(".findings").textContent'), 'No configuration is known to run on both GPUs.');
  },
  'what is highlighted in one chart of configurations is so in all': async () => {
    await open('stored');
    const shown = () => browser.evaluate(`charts.map(one => one.drawn).filter(one => one.options.parsing === false)
      .map(one => one.data.datasets.filter(set => set.label !== 'others').reduce((sum, set) => sum + set.data.length, 0))`);
    const everything = await shown();
    await chooseAnother('Highlighted');
    await browser.until('document.documentElement.dataset.drawn');
    const some = await shown();
    some.forEach((n, i) => assert.ok(n > 0 && n < everything[i], `${n} of ${everything[i]}`));
    await browser.evaluate('highlight(highlighted.p, highlighted.number)');
    await browser.until('document.documentElement.dataset.drawn');
    assert.deepEqual(await shown(), everything);
  },
  'statistics say of how many they are': async () => {
    await open('stored');
    assert.deepEqual(await browser.evaluate(`charts.map(one => one.canvas.ariaLabel).filter(text => text.includes('explains') && !/n = \\d/.test(text))`), []);
    assert.equal(await browser.evaluate(`charts.map(one => one.drawn).filter(one => one.data.datasets.some(set => set.label === 'median'))
      .every(one => one.data.labels.every(([, n]) => /^n \\d/.test(n)))`), true);
    assert.match(await browser.evaluate('[...document.querySelectorAll("th")].map(one => one.textContent).join()'), /,n,/);
  },
  'nothing is wider than a phone': async () => {
    for (const name of pages) {
      await open(name, {width: 360, height: 740});
      assert.ok(await browser.evaluate('document.documentElement.scrollWidth') <= 360, name);
    }
  },
};
if (checker) {
  tests['axe finds nothing, in light and dark'] = async () => {
    for (const name of pages.filter(one => one !== 'hostile')) {
      for (const dark of [false, true]) {
        await open(name, {dark});
        await openTables();
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
  for (const name of pages) {
    for (const [look, options] of [['light', {}], ['dark', {dark: true}], ['phone', {width: 360, height: 740}]]) {
      await open(name, options);
      writeFileSync(join(folder, `${name}_${look}.png`), await browser.screenshot());
    }
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
