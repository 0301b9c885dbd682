import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Listening, Usage, Order } from './measured-server.ts'

/** Client of `measured-server.ts`. */
export class MeasuredServer {
  readonly listening: Listening
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, listening: Listening) {
    this.#child = child
    this.listening = listening
  }

  static async start(): Promise<MeasuredServer> {
    const script = fileURLToPath(new URL('measured-server.js', import.meta.url))
    const child = fork(script, { execArgv: ['--expose-gc'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    return new MeasuredServer(child, await nextMessage<Listening>(child))
  }

  /** Prints and returns the times since the last request of usage, and the memory in use now. */
  async printUsage(what: string): Promise<Usage> {
    const seen = await this.send<Usage>({ kind: 'usage' })
    console.log(
      `  ${what}: longest turn ${seen.turnMs.toFixed(1)} ms, most CPU time of a turn ${seen.turnCpuMs.toFixed(1)} ms, longest garbage ` +
        `collection ${seen.collectorMs.toFixed(1)} ms; CPU ${seen.cpuMs.toFixed(0)} ms; resident ${seen.residentMiB.toFixed(0)} MiB, ` +
        `heap ${seen.heapMiB.toFixed(0)}, buffers ${seen.buffersMiB.toFixed(0)}`,
    )
    return seen
  }

  async send<T>(order: Order): Promise<T> {
    this.#child.send(order)
    return nextMessage<T>(this.#child)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

async function nextMessage<T>(from: ChildProcess): Promise<T> {
  const [message] = (await once(from, 'message')) as [T]
  return message
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
