/*
 * The shipped server with a state that diverges on demand: when the file
 * ORCH_STALL_DIRECTORY/diverge appears, the first "good" in each object in this member's memory
 * becomes "evil", as if other objects had been applied.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { main } from '../../../src/main.ts'
import {
  addHash,
  hash128,
  hashBytes,
  newHash,
  subtractHash,
  writeHash,
} from '../../../src/store/machine/hash.ts'
import { decodeVersion, hashOf, recordOf } from '../../../src/store/machine/object-version.ts'
import type { StoreMachine } from '../../../src/store/store-machine.ts'

const order = join(process.env['ORCH_STALL_DIRECTORY'] ?? '.', 'diverge')

function diverge(machine: StoreMachine): void {
  const { objects, versionsSum } = machine.state
  for (const version of objects.list('', null, null).objects) {
    const record = Buffer.from(recordOf(version))
    const at = record.indexOf('"good"')
    if (at === -1) continue
    record.write('"evil"', at)
    writeHash(hash128(record, hashBytes, newHash()), record, 0)
    const spoiled = decodeVersion(record, version.revision)
    subtractHash(versionsSum, hashOf(version, newHash()))
    addHash(versionsSum, hashOf(spoiled, newHash()))
    objects.set(spoiled)
  }
}

await main({
  machine: (machine) => {
    setInterval(() => {
      if (!existsSync(order)) return
      rmSync(order)
      diverge(machine)
    }, 20).unref()
  },
})
