import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'

/** A call of the file system that fails. */
export type FileFailure = {
  readonly method:
    'openSync' | 'writeFileSync' | 'fsyncSync' | 'renameSync' | 'linkSync' | 'lstatSync' | 'rmSync'
  readonly code: string
  /** The number of calls that succeed first. Default: 0 */
  readonly after?: number
  /** Matches the first path of the calls that fail. Default: all */
  readonly path?: RegExp
}

/** Runs `action` while a call of the file system fails as on a full disk, or a read-only one. */
export function whileFailing<T>(t: TestContext, failure: FileFailure, action: () => T): T {
  const { method, code, path = /^/ } = failure
  const original = fs[method] as (...args: readonly unknown[]) => unknown
  let left = failure.after ?? 0
  const failing = t.mock.method(fs, method, (...args: readonly unknown[]): unknown => {
    if (!path.test(String(args[0])) || left-- > 0) return original(...args)
    throw Object.assign(new Error(`${code}: ${method}`), { code, syscall: method })
  })
  syncBuiltinESMExports()
  try {
    return action()
  } finally {
    failing.mock.restore()
    syncBuiltinESMExports()
  }
}
