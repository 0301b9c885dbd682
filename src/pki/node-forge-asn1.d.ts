/** A part of node-forge by itself: the whole of it is ten times as much to load. Its types come with the whole. */
declare module 'node-forge/lib/asn1.js' {
  import { asn1 } from 'node-forge'
  export default asn1
}
