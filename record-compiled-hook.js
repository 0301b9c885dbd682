/*
 * Node loads this module before a bundled program. It writes the compiled form of each script (V8's
 * code cache) to the path of the script with `.compiled` appended: once the file that RECORD_WHEN
 * names exists, or else when the program or thread ends. By then the compiled form contains the
 * functions that the start has called.
 */
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import vm from 'node:vm'
import { threadId } from 'node:worker_threads'

const when = process.env.RECORD_WHEN
const scripts = new Map()

class RecordedScript extends vm.Script {
  constructor(text, options) {
    super(text, options)
    if (typeof options === 'object' && options.filename.endsWith('.cjs')) scripts.set(options.filename, this)
  }
}

function write() {
  for (const [path, script] of scripts) {
    // Several threads may run the same script.
    const partial = `${path}.partial-${threadId}`
    writeFileSync(partial, script.createCachedData())
    renameSync(partial, `${path}.compiled`)
  }
  scripts.clear()
}

vm.Script = RecordedScript
syncBuiltinESMExports()
process.on('exit', write)
if (when !== undefined)
  setInterval(() => {
    if (existsSync(when)) write()
  }, 20).unref()
