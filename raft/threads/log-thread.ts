import { parentPort } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import { LogError } from '../log/errors.ts'
import { FileDisk } from '../log/file-disk.ts'
import { defaultLogLimits } from '../log/limits.ts'
import { LogActor } from '../log/log-actor.ts'
import type { ApiToLog, LogToApi, LogToRaft, RaftToLog } from '../log/log-protocol.ts'
import { openLog } from '../log/open-log.ts'
import type { OpenedLog } from '../log/open-log.ts'
import { MessagePortChannel } from './message-port-channel.ts'
import { refuseAltered } from '../protocol/command-checksum-guard.ts'
import { loadThreadHost } from './thread-host.ts'
import type { ThreadHost } from './thread-host.ts'
import type { LogThreadData } from './threads.ts'

/* Entry point of the log thread. Only the disk makes it wait. */

parentPort?.once('message', (data: unknown) => {
  assert(isLogThreadData(data), 'a log thread begins with its data')
  void run(data)
})

/** Starts the log actor. A failure ends the thread: the rejection is not handled. */
async function run(own: LogThreadData): Promise<void> {
  serve(own, await loadThreadHost(own.hostUrl))
}

function serve({ directory, owner, raft: raftPort, api: apiPort }: LogThreadData, host: ThreadHost): void {
  const raft = new MessagePortChannel<LogToRaft, RaftToLog>({ port: raftPort, lifetime: 'ref' })
  const api = new MessagePortChannel<LogToApi, ApiToLog>({ port: apiPort, lifetime: 'ref' })
  const { clock, random } = host
  let log: OpenedLog
  try {
    log = openLog({ disk: new FileDisk(directory), random, owner })
  } catch (cause) {
    if (!(cause instanceof LogError)) throw cause
    raft.post({ kind: 'failed', code: cause.code, message: cause.message })
    return
  }
  // The actor reports a failure to both other threads; the process ends because of the raft
  // thread's message.
  const onFailed = (): void => undefined
  const { store, prepare, measure, wal } = log
  const scrub = { limits: defaultLogLimits, wal }
  new LogActor({ store, raft, api, clock, refuse: refuseAltered, prepare, onFailed, measure, scrub }).start()
}

function isLogThreadData(value: unknown): value is LogThreadData {
  return typeof value === 'object' && value !== null && 'role' in value && value.role === 'log'
}
