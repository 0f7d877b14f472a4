// A login with a second factor, by the C library: go run login.go
package main

/*
#cgo pkg-config: seconder
#include <seconder.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"log"
	"unsafe"
)

// check returns nil for SECONDER_OK alone. The message is copied before its error is freed.
func check(status C.seconder_status, failure **C.seconder_error) error {
	if status == C.SECONDER_OK {
		return nil
	}
	defer C.seconder_error_free(*failure)
	return errors.New(C.GoString(C.seconder_error_message(*failure)))
}

// verify returns nil only for the right code. `force` has the code of a new user checked too.
func verify(service *C.seconder_service, userID uint64, code string) error {
	var reply *C.seconder_verification
	var failure *C.seconder_error
	options := C.seconder_verify_options{force: true}
	token := C.CString(code)
	defer C.free(unsafe.Pointer(token))
	status := C.seconder_verify(service, C.uint64_t(userID), token,
		&options, C.sizeof_seconder_verify_options, &reply, &failure)
	C.seconder_verification_free(reply)
	return check(status, &failure)
}

func main() {
	var service *C.seconder_service
	var user *C.seconder_user_created
	var failure *C.seconder_error
	url, options := C.CString("sandbox:?accept=0000000"), C.CString("application_name=Example")
	email, phone, country := C.CString("ada@example.com"), C.CString("555-010-0123"), C.CString("1")
	for _, text := range []*C.char{url, options, email, phone, country} {
		defer C.free(unsafe.Pointer(text))
	}
	if err := check(C.seconder_open_text(url, nil, options, &service, &failure), &failure); err != nil {
		log.Panic(err)
	}
	defer C.seconder_service_free(service)
	status := C.seconder_create_user(service, email, phone, country, nil, 0, &user, &failure)
	if err := check(status, &failure); err != nil {
		log.Panic(err)
	}
	userID := uint64(C.seconder_user_created_user_id(user))
	C.seconder_user_created_free(user)
	for _, code := range []string{"0000000", "1111111"} {
		if err := verify(service, userID, code); err != nil {
			fmt.Printf("%s: Access denied: %v\n", code, err)
		} else {
			fmt.Printf("%s: Welcome, Ada.\n", code)
		}
	}
}
