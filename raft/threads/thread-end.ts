import { parentPort } from 'node:worker_threads'
import type { Worker } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'

/**
 * Ends a thread that takes calls of peers, once it takes none any more. Node ends the whole process
 * by an assertion of its own where such a thread is ended (`terminate`, or the end of the process)
 * while HTTP/2 reads a new call: then nobody was told any more what its first bytes are to be
 * handed to.
 *
 * @source nodejs/node issue 38418
 */
export class ThreadEnd {
  readonly #worker: Worker
  /** 1: nothing that comes in is read any more. */
  readonly #stopFlag: Int32Array
  readonly #beforeExit = (): void => this.#stopAccepting()

  /** @param stopFlag as the thread was given it; see `stopWhenAsked` */
  constructor(worker: Worker, stopFlag: SharedArrayBuffer) {
    this.#worker = worker
    this.#stopFlag = new Int32Array(stopFlag)
    worker.once('exit', () => {
      Atomics.store(this.#stopFlag, 0, 1)
      process.off('exit', this.#beforeExit)
    })
    process.on('exit', this.#beforeExit)
  }

  /** What thread and owner share. */
  static shared(): SharedArrayBuffer {
    return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  }

  /** Resolves when the thread is gone. */
  async end(): Promise<void> {
    this.#stopAccepting()
    await this.#worker.terminate()
  }

  /**
   * Nothing can be awaited as a process ends, so this holds its caller: for a turn of the thread,
   * or until patience ends.
   */
  #stopAccepting(): void {
    if (Atomics.load(this.#stopFlag, 0) === 1) return
    this.#worker.postMessage(null)
    Atomics.wait(this.#stopFlag, 0, 0, stopTimeoutMs)
  }
}

/** For the thread. @param disconnect after which nothing is read of anybody */
export function stopWhenAsked(stopFlag: SharedArrayBuffer, disconnect: () => void): void {
  assert(parentPort !== null, 'only a thread is told')
  parentPort.once('message', () => {
    disconnect()
    const flag = new Int32Array(stopFlag)
    Atomics.store(flag, 0, 1)
    Atomics.notify(flag, 0)
  })
  // By itself this keeps no thread alive.
  parentPort.unref()
}

/** In ms. A thread that does not listen for so long is ended as it is. */
const stopTimeoutMs = 500
