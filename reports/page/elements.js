// Elements of the page, whose text is only ever text; colors; formats of numbers.
'use strict';
const element = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') node.textContent = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child));
  return node;
};

const dark = window.matchMedia('(prefers-color-scheme: dark)');
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Eight colors that people who do not see red and green can tell apart, too; the last is grey.
const color = i => css(`--c${i % 8}`);
const shapes = [['circle', '●'], ['triangle', '▲'], ['rect', '■'], ['rectRot', '◆'], ['star', '✳'], ['crossRot', '✕'], ['cross', '✚'], ['line', '━']];
const marker = i => ({pointStyle: shapes[i % 8][0], borderColor: color(i), backgroundColor: color(i)});
// entries: [text, number of its color and shape]
const legend = (entries, shape) => element('p', {class: 'legend'}, ...entries.map(([text, i]) => element('span', {},
  element('span', {class: `c${i % 8}`, 'aria-hidden': 'true', text: shape ?? shapes[i % 8][1]}), ` ${short(text)}`)));

const digits = (x, n = 4) => Number(x.toPrecision(n)).toString();
const time = (ms, text = x => x < 1000 ? x.toPrecision(4) : String(Math.round(x))) => ms >= 1000 ? text(ms / 1000) + ' s' : ms >= 1 ? text(ms) + ' ms'
  : ms >= 1e-3 ? text(ms * 1e3) + ' us' : text(ms * 1e6) + ' ns';
const intervalText = one => {
  if (one.low === null) return '';
  const [low, high] = [time(one.low), time(one.high)];
  const unit = high.slice(high.indexOf(' '));
  return `${low.endsWith(unit) ? low.slice(0, -unit.length) : low} to ${high}`;
};
const rateText = one => one.rate.replaceAll(/ (?=[A-Z])/g, '\u00a0');  // A number stays beside its unit.
const short = (text, most = 40) => text.length > most ? text.slice(0, most - 1) + '…' : text;
const count = n => n.toLocaleString('en');
const percent = share => (100 * share).toFixed(share >= 0.9995 ? 0 : 1) + ' %';
// Without its sign; with a decimal where a whole number would say that nothing is lost.
const wholePercent = share => (100 * share).toFixed(share >= 0.995 && share < 0.9995 ? 1 : 0);
const median = sorted => sorted.length % 2 ? sorted[(sorted.length - 1) / 2]
  : (sorted[sorted.length / 2 - 1] + sorted[sorted.length / 2]) / 2;
const extent = values => {
  let low = Infinity, high = -Infinity;
  for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
  return [low, high];
};

// Choices outlive the redrawing of a part of the page.
const choices = new Map();
const choice = (name, options, preset, onchange) => {
  const kept = choices.get(name);
  const chosen = options.some(([value]) => value === kept) ? kept : preset;
  const select = element('select', {}, ...options.map(([value, text]) =>
    element('option', {value, text, selected: value === chosen ? '' : null})));
  select.addEventListener('change', () => { choices.set(name, select.value); onchange(); });
  return {label: element('label', {}, name, select), get value() { return select.value; },
    choose: value => { select.value = value; select.dispatchEvent(new Event('change')); }};
};

// Lets go of the page's thread: for what people do, and for drawing.
const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();
const otherWork = () => new Promise(resolve => {
  waiting.push(resolve);
  channel.port2.postMessage(null);
});
