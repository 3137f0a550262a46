// Puts the parts together, of the device and problem that are chosen.
const report = document.getElementById('report');
const heading = report.firstElementChild;

const sectionParts = section => {
  const rows = section.rows, timed = timedOf(rows);
  const present = data.kernels.map((name, k) => [String(k), name]).filter((_, k) => rows.kernel.includes(k));
  const tried = ([k]) => rows.kernel.filter(one => one === Number(k)).length;
  const winner = present.find(([, name]) => section.best.length && name === section.best[0].kernel) ??
    present.toSorted((a, b) => tried(b) - tried(a))[0];
  const ofKernel = element('div');
  const fillKernel = () => {
    drop(ofKernel);
    const k = Number(kernel.value), name = data.kernels[k];
    const list = indices(rows).filter(i => rows.kernel[i] === k), fast = list.filter(i => rows.ms[i] !== null);
    const ranked = byImportance(rows, fast, varied(rows, list));
    ofKernel.append(...[byValue(section, rows, fast, ranked), heatMap(rows, list, name, ranked, section.dry),
      parallel(rows, fast, name, ranked), failuresByValue(rows, list)].filter(node => node));
    if (!ofKernel.hasChildNodes() && present.length > 1) ofKernel.append(element('p', {text: `Of ${name} too little was tried to compare values.`}));
  };
  const kernel = choice('Kernel', present, winner[0], () => { fillKernel(); draw(); });
  fillKernel();
  return [
    ['', element('div', {class: 'findings', role: 'status'}, ...section.findings.map(text => element('p', {}, ...breakable(text))))],
    ['Kernels', ...(section.best.length ? [ladder(section), kernelTable(section)] : [])],
    ['Configurations', timed.length ? everyTime(section, rows, timed) : null],
    ['Failures', failures(section, rows)],
    ['Parameters', present.length > 1 ? element('div', {class: 'controls'}, kernel.label) : null, ofKernel],
    ['Resources', resources(section, rows, timed)],
    ['Limits of the device', roofline(section, rows, timed)],
    ['Search', convergence(section)],
    ['Finals', finalists(section, rows)],
    ['Where it comes from', ...provenance(section)],
  ];
};

const showSection = (body, section) => {
  drop(body);
  for (const [title, ...nodes] of sectionParts(section)) {
    const there = nodes.filter(node => node && (node !== undefined) && (node.childNodes.length > 0));
    if (!there.length) continue;
    if (title) body.append(element('h2', {text: title}));
    body.append(...there);
  }
  draw();
};

const show = () => {
  drop(report);
  report.append(heading);
  if (data.live) report.append(liveNotice());
  if (data.pairs) {
    report.append(...versions().filter(node => node));
    draw();
  } else if (data.sections.length) {
    const side = devicesSideBySide();
    const body = element('div');
    const titles = data.sections.map(section => section.device_label + (section.problem ? `: ${section.problem}` : ''));
    const followed = Math.max(0, data.sections.findIndex(one => data.live && one.device_label.startsWith(data.live.device)));
    const section = choice('Device and problem', titles.map((text, n) => [String(n), text]), String(followed),
      () => showSection(body, data.sections[Number(section.value)]));
    report.append(...[side, element('h2', {text: titles.length === 1 ? titles[0] : 'One device, one problem'}),
      titles.length > 1 ? element('div', {class: 'controls'}, section.label) : null, body].filter(node => node));
    showSection(body, data.sections[Number(section.value)]);
  }
};
show();
follow();
