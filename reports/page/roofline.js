// Work per second against work per byte, under the roof of the device's clocks and widths.
const roofline = (section, rows, timed) => {
  const list = timed.filter(i => flopPerByte(rows, i) !== null);
  if (!list.length || !(section.flops_per_s > 0) || !(section.bytes_per_s > 0)) return null;
  const intensity = i => flopPerByte(rows, i);
  const rate = i => tflopPerSecond(rows, i);
  const [least, most] = extent(list.map(intensity));
  const knee = section.flops_per_s / section.bytes_per_s;
  const [low, high] = [Math.min(knee / 8, least) / 2, Math.max(knee * 8, most) * 2];
  return chart('Roofline', 'Single-precision work per second against work per byte that must move. The roof is what clocks ' +
    'and widths allow (tensor cores and other precisions have others).', () => {
    const config = scatter(rows, list, intensity, rate, axis('FLOP per byte', 'logarithmic'),
      {...axis('TFLOP/s', 'logarithmic'), suggestedMax: section.flops_per_s / 5e11}, i => `${digits(rate(i), 3)} TFLOP/s`)();
    config.data.datasets.push({label: 'roof', showLine: true, pointRadius: 0, borderColor: css('--quiet'), backgroundColor: css('--quiet'),
      data: [low, knee, high].map(x => ({x, y: Math.min(section.flops_per_s, section.bytes_per_s * x) / 1e12}))});
    return config;
  }, null);
};
