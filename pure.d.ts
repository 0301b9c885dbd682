/**
 * Bytes, and what is an address, are all of Node that the pure rooms may use: they know no clock, no disk and no network. Of `tsconfig.pure.json` alone, where
 * nothing else of Node has a name; the whole project has Node's own types.
 */
declare module 'node:buffer' {
  type Encoding = 'utf8' | 'latin1' | 'base64'

  export class Buffer extends Uint8Array<ArrayBuffer> {
    static from(text: string, encoding?: Encoding): Buffer
    static from(bytes: ArrayBufferLike, offset?: number, length?: number): Buffer
    static allocUnsafe(length: number): Buffer
    static byteLength(text: string): number
    write(text: string, offset: number, length: number, encoding: Encoding): number
    write(text: string, offset: number, encoding?: Encoding): number
    toString(encoding?: Encoding, start?: number, end?: number): string
    override subarray(start?: number, end?: number): Buffer
    copy(target: Uint8Array, at: number, start?: number, end?: number): number
    writeUInt32BE(value: number, offset?: number): number
    writeDoubleLE(value: number, offset: number): number
    readDoubleLE(offset: number): number
  }

  export function isUtf8(bytes: Uint8Array): boolean
}

declare module 'node:net' {
  /** 4, 6, or 0 for what is none. */
  export function isIP(text: string): number
  export function isIPv4(text: string): boolean
  export function isIPv6(text: string): boolean
}

/** Of the engine, whatever runs on it: how many lines of its trace an error keeps. */
interface ErrorConstructor {
  stackTraceLimit: number
}
