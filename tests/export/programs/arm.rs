// The arm in Rust, by its foreign function interface: rustc arm_example.rs -C link-arg=arm.o -C link-arg=-lm
use std::ffi::CStr;
use std::os::raw::{c_char, c_double, c_int};

extern "C" {
    fn arm_nq() -> i64;
    fn arm_nv() -> i64;
    fn arm_work_size() -> i64;
    fn arm_neutral(q: *mut c_double);
    fn arm_model_name() -> *const c_char;
    fn arm_rhs(t: c_double, q: *const c_double, p: *const c_double, tau: *const c_double, qdot: *mut c_double,
               pdot: *mut c_double, work: *mut c_double) -> c_int;
}

fn main() {
    unsafe {
        let (nq, nv) = (arm_nq() as usize, arm_nv() as usize);
        let mut work = vec![0.0; arm_work_size() as usize];
        let (mut q, mut qdot, mut pdot) = (vec![0.0; nq], vec![0.0; nq], vec![0.0; nv]);
        arm_neutral(q.as_mut_ptr());
        let p: Vec<f64> = (0..nv).map(|i| 0.1 * (i + 1) as f64).collect();
        let status = arm_rhs(0.0, q.as_ptr(), p.as_ptr(), std::ptr::null(), qdot.as_mut_ptr(), pdot.as_mut_ptr(),
                             work.as_mut_ptr());
        println!("{} {}", CStr::from_ptr(arm_model_name()).to_str().unwrap(), status);
        for i in 0..nq {
            println!("{:016x} {:016x}", qdot[i].to_bits(), pdot[i].to_bits());
        }
    }
}
