// While a run goes on: asks for what is new, and draws it where the reader is.
const livePeriod = 2000;  // Milliseconds.
const liveWords = {running: 'The run is in progress: this page updates itself.', gone: 'The run was cut off: its process ended without recording an outcome.',
  lost: 'smemtune no longer answers: this is what it showed last.'};
const liveNotice = () => element('p', {class: 'live', role: 'status',
  text: liveWords[data.live.state] ?? `The run has ended: ${data.live.state}.`});

const summaries = () => [...document.querySelectorAll('summary')];
const selects = () => [...document.querySelectorAll('label')].filter(label => label.querySelector('select'));
const showInPlace = () => {
  const open = new Set(summaries().filter(one => one.parentElement.open).map(one => one.textContent));
  const focused = selects().find(label => label.contains(document.activeElement))?.firstChild.textContent;
  const y = window.scrollY;
  document.body.style.minHeight = `${document.body.offsetHeight}px`;
  show();
  summaries().forEach(one => { one.parentElement.open = open.has(one.textContent); });
  selects().find(label => label.firstChild.textContent === focused)?.querySelector('select').focus();
  document.body.style.minHeight = '';
  window.scrollTo(0, y);
};

const follow = async () => {
  for (let unanswered = 0; data.live?.state === 'running';) {
    await new Promise(resolve => setTimeout(resolve, livePeriod));
    try {
      const answer = await fetch(`data/${data.live.version}`);
      if (answer.status === 200) {
        data = await answer.json();
        constants = constantsOf();
        showInPlace();
      }
      unanswered = 0;
    } catch {
      if (++unanswered < 3) continue;
      data.live.state = 'lost';
      showInPlace();
    }
  }
};
