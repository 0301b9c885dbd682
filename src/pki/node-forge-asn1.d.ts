/**
 * The ASN.1 part of node-forge; all of it would take ten times as long to load. The types come with
 * the whole package.
 */
declare module 'node-forge/lib/asn1.js' {
  import { asn1 } from 'node-forge'
  export default asn1
}
