import { parentPort } from 'node:worker_threads'
import type { Worker } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'

/**
 * Ends a thread that accepts connections of peers, after it stopped accepting. Node aborts the
 * process by an assertion if such a thread is ended (`terminate`, or the end of the process) while
 * HTTP/2 reads a new request, because the handler of its first bytes is already gone.
 *
 * @source nodejs/node issue 38418
 */
export class ThreadEnd {
  readonly #worker: Worker
  /** 1: the thread has stopped accepting, or has ended. */
  readonly #stopFlag: Int32Array
  readonly #beforeExit = (): void => this.#stopAccepting()

  /** @param stopFlag the same buffer as the thread has; see `stopWhenAsked` */
  constructor(worker: Worker, stopFlag: SharedArrayBuffer) {
    this.#worker = worker
    this.#stopFlag = new Int32Array(stopFlag)
    worker.once('exit', () => {
      Atomics.store(this.#stopFlag, 0, 1)
      process.off('exit', this.#beforeExit)
    })
    process.on('exit', this.#beforeExit)
  }

  /** Returns the buffer that thread and owner share. */
  static shared(): SharedArrayBuffer {
    return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  }

  /** Resolves when the thread has ended. */
  async end(): Promise<void> {
    this.#stopAccepting()
    await this.#worker.terminate()
  }

  /**
   * Makes the thread stop accepting. Nothing can be awaited while a process ends, so this blocks
   * its caller until the thread has stopped accepting, or until the timeout.
   */
  #stopAccepting(): void {
    if (Atomics.load(this.#stopFlag, 0) === 1) return
    this.#worker.postMessage(null)
    Atomics.wait(this.#stopFlag, 0, 0, stopTimeoutMs)
  }
}

/**
 * Stops accepting connections and input when the owner requests it. Called by the thread.
 *
 * @param disconnect closes all connections: after it returns, no input of peers is read
 */
export function stopWhenAsked(stopFlag: SharedArrayBuffer, disconnect: () => void): void {
  assert(parentPort !== null, 'only a worker thread can be stopped')
  parentPort.once('message', () => {
    disconnect()
    const flag = new Int32Array(stopFlag)
    Atomics.store(flag, 0, 1)
    Atomics.notify(flag, 0)
  })
  // This listener alone must not keep the thread alive.
  parentPort.unref()
}

/** Time limit in ms: a thread that does not respond within it is ended anyway. */
const stopTimeoutMs = 500
