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
  readonly #deaf: Int32Array
  readonly #beforeExit = (): void => this.#hearNoMore()

  /** @param deaf as the thread was given it; see `deafWhenTold` */
  constructor(worker: Worker, deaf: SharedArrayBuffer) {
    this.#worker = worker
    this.#deaf = new Int32Array(deaf)
    worker.once('exit', () => {
      Atomics.store(this.#deaf, 0, 1)
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
    this.#hearNoMore()
    await this.#worker.terminate()
  }

  /**
   * Nothing can be awaited as a process ends, so this holds its caller: for a turn of the thread,
   * or until patience ends.
   */
  #hearNoMore(): void {
    if (Atomics.load(this.#deaf, 0) === 1) return
    this.#worker.postMessage(null)
    Atomics.wait(this.#deaf, 0, 0, patienceMs)
  }
}

/** For the thread. @param hangUp after which nothing is read of anybody */
export function stopWhenAsked(deaf: SharedArrayBuffer, hangUp: () => void): void {
  assert(parentPort !== null, 'only a thread is told')
  parentPort.once('message', () => {
    hangUp()
    const said = new Int32Array(deaf)
    Atomics.store(said, 0, 1)
    Atomics.notify(said, 0)
  })
  // By itself this keeps no thread alive.
  parentPort.unref()
}

/** In ms. A thread that does not listen for so long is ended as it is. */
const patienceMs = 500
