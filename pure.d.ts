/**
 * The part of Node that the pure modules may use: bytes and the syntax of addresses, but no clock,
 * disk or network. Only `tsconfig.pure.json` includes this file, and that project has no other
 * types of Node. `tsconfig.json` compiles the same modules again, with Node's own types.
 */
declare module 'node:buffer' {
  type Encoding = 'utf8' | 'latin1' | 'base64' | 'hex'

  export class Buffer extends Uint8Array<ArrayBuffer> {
    static from(text: string, encoding?: Encoding): Buffer
    static from(bytes: ArrayBufferLike, offset?: number, length?: number): Buffer
    static from(bytes: Uint8Array): Buffer
    static compare(a: Uint8Array, b: Uint8Array): number
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
  /** Returns 4 or 6, or 0 for text that is not an address. */
  export function isIP(text: string): number
  export function isIPv4(text: string): boolean
  export function isIPv6(text: string): boolean
}

/** A property of V8: the maximum number of stack frames that an error records. */
interface ErrorConstructor {
  stackTraceLimit: number
}
