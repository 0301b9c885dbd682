/* One thread of the load generator: runs one job after the other. */
import { parentPort } from 'node:worker_threads'
import { assertNever, present } from '../../../base/assert.ts'
import { MachineClock } from '../../../src/host/machine-clock.ts'
import { CallGroup } from './call-group.ts'
import type { Done, Job, Reply } from './messages.ts'
import { WatchGroup } from './watch-group.ts'

const clock = new MachineClock()
const port = present(parentPort, 'this is a thread')
let calls: CallGroup | null = null
let watches: WatchGroup | null = null

async function perform(job: Job): Promise<Done> {
  switch (job.kind) {
    case 'open-calls':
      calls = await CallGroup.open(job.calls, clock)
      return { kind: 'opened' }
    case 'run-calls':
      return present(calls, 'calls were opened').run(job.endMs)
    case 'open-watches':
      watches?.close()
      watches = await WatchGroup.open(job.watches, clock)
      return { kind: 'opened' }
    case 'count-watches':
      return present(watches, 'watches were opened').count(job.upTo, job.endMs)
    default:
      return assertNever(job)
  }
}

function answer(reply: Reply): void {
  port.postMessage(reply)
}

port.on('message', (job: Job) => {
  perform(job).then(
    (done) => answer({ kind: 'done', done }),
    (cause: unknown) =>
      answer({ kind: 'failed', words: cause instanceof Error ? cause.message : String(cause) }),
  )
})
