#pragma once

/// Where a kernel's data lie, or by which path they are read: `readonly` by __ldg, `texture` by
/// tex1Dfetch.
enum Place { registers, shared, l1, readonly, texture, l2, global, constant };
