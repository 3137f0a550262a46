// A headless Chromium, driven over a pipe by the DevTools protocol: nothing but node is needed.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export class Browser {
  constructor(executable) {
    this.profile = mkdtempSync(join(tmpdir(), 'smemtune_browser_'));
    this.process = spawn(executable, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking',
      '--remote-debugging-pipe', '--hide-scrollbars', `--user-data-dir=${this.profile}`], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    this.waiting = new Map();
    this.events = [];
    this.number = 0;
    let text = '';
    this.process.stdio[4].setEncoding('utf8').on('data', part => {
      text += part;
      const messages = text.split('\0');
      text = messages.pop();
      messages.forEach(message => this.#take(JSON.parse(message)));
    });
  }

  #take(message) {
    if (!message.id) return void this.events.push(message);
    const {resolve, reject} = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) reject(new Error(message.error.message)); else resolve(message.result);
  }

  call(method, params = {}) {
    const id = ++this.number;
    this.process.stdio[3].write(JSON.stringify({id, method, params, sessionId: this.session}) + '\0');
    return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
  }

  // Opens a page of this width, light or dark; what it logs and asks for is in this.events.
  async open(url, {width = 1200, height = 900, dark = false} = {}) {
    this.session = undefined;
    const {targetId} = await this.call('Target.createTarget', {url: 'about:blank'});
    this.session = (await this.call('Target.attachToTarget', {targetId, flatten: true})).sessionId;
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await this.call(`${domain}.enable`);
    await this.call('Performance.enable', {timeDomain: 'threadTicks'});
    await this.call('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: width < 500});
    await this.call('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}]});
    this.events = [];
    await this.call('Page.navigate', {url});
    await this.until('document.readyState === "complete"');
  }

  async evaluate(expression) {
    const answer = await this.call('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
    if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? answer.exceptionDetails.text);
    return answer.result.value;
  }

  // Waits as long as it takes: who calls has a limit.
  async until(expression) {
    while (!await this.evaluate(`Boolean(${expression})`)) await new Promise(resolve => setTimeout(resolve, 20));
  }

  // Milliseconds that the page's thread has computed since the page was opened, whatever else the machine did meanwhile.
  async computed() {
    const {metrics} = await this.call('Performance.getMetrics');
    return 1000 * metrics.find(one => one.name === 'TaskDuration').value;
  }

  // The text of the file that a click on a button saves, by way of a folder.
  async saved(button, folder) {
    this.events = [];
    await this.call('Browser.setDownloadBehavior', {behavior: 'allowAndName', downloadPath: resolve(folder), eventsEnabled: true});
    await this.evaluate(`${button}.click()`);
    const done = () => this.events.find(({method, params}) => method === 'Browser.downloadProgress' && params.state === 'completed');
    while (!done()) await new Promise(resolve => setTimeout(resolve, 20));
    return readFileSync(join(folder, done().params.guid), 'utf8');
  }

  // A key as a keyboard sends it.
  async press(key) {
    const codes = {Tab: 9, Enter: 13, ArrowDown: 40, ArrowUp: 38, ' ': 32};
    const event = {key, code: key === ' ' ? 'Space' : key, windowsVirtualKeyCode: codes[key],
      text: {Enter: '\r', ' ': ' '}[key]};
    await this.call('Input.dispatchKeyEvent', {type: 'keyDown', ...event});
    await this.call('Input.dispatchKeyEvent', {type: 'keyUp', ...event});
  }

  // Returns the messages since opening, and the requests for anything but the page itself.
  complaints() {
    return this.events.flatMap(({method, params}) => {
      if (method === 'Runtime.exceptionThrown') return [params.exceptionDetails.exception?.description ?? params.exceptionDetails.text];
      if (method === 'Runtime.consoleAPICalled') return [params.args.map(one => one.value).join(' ')];
      if (method === 'Log.entryAdded') return [params.entry.text];
      if (method === 'Network.requestWillBeSent' && params.type !== 'Document') return [`asks for ${params.request.url}`];
      return [];
    });
  }

  // Returns a PNG of the page from `top` to `bottom`, in pixels, else of all of it, as in a window that holds it whole.
  async screenshot({top = 0, bottom} = {}) {
    const {cssContentSize: {width, height}} = await this.call('Page.getLayoutMetrics');
    await this.call('Emulation.setDeviceMetricsOverride', {width, height: Math.min(height, 16000), deviceScaleFactor: 1, mobile: width < 500});
    await this.until('document.documentElement.dataset.drawn');
    const clip = bottom && {x: 0, y: top, width, height: bottom - top, scale: 1};
    const {data} = await this.call('Page.captureScreenshot', {clip});
    return Buffer.from(data, 'base64');
  }

  async close() {
    this.session = undefined;
    const ended = new Promise(resolve => this.process.on('exit', resolve));
    await this.call('Browser.close');  // Killed, it would leave processes that still write to the profile.
    await ended;
    rmSync(this.profile, {recursive: true, force: true, maxRetries: 5});
  }
}
