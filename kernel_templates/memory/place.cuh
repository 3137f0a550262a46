#pragma once

/// Where a kernel's data lie, or by which path they are read: `readonly` by __ldg, `textures` by
/// tex1Dfetch.
enum Place { registers, shared, l1, readonly, textures, l2, global, constant };
